import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { mayContinue, type RunPinning, readPin, typeClaim, type WorkerCode, workerCodeOf, writePin } from "./pins.ts";

const texts = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.constantFrom("[", "[]", `["b","f"]`, `[null,"f"]`, `[["b"]]`, "{}", "\0", "\ud800", "constructor", "__proto__"),
);
const pins = fc.record({
  build: fc.option(texts, { nil: undefined }),
  definition: fc.option(texts, { nil: undefined }),
});
const codes: fc.Arbitrary<WorkerCode> = fc.record({
  build: fc.constantFrom("", "b1", "b2", "[b"),
  compatible: fc.constantFrom([], ["b1"], ["b2", "b3", "b2"], [""]),
  definitions: fc.constantFrom<Record<string, string>[]>({}, { order: "f" }, { order: "g", other: "f" }, { order: "" }),
});
const pinnings = fc.constantFrom<RunPinning[]>("build", "definition");

describe("pins of a run", () => {
  it("a pin is read as it was written", () => {
    fc.assert(
      fc.property(pins, (pin) => {
        assert.deepEqual(readPin(writePin(pin)), { ...pin });
      }),
    );
  });

  it("two pins have the same text only if they are equal", () => {
    fc.assert(
      fc.property(pins, pins, (one, other) => {
        const isSame = one.build === other.build && one.definition === other.definition;
        assert.equal(writePin(one) === writePin(other), isSame);
      }),
    );
  });

  it("a build alone is written as it is, so that earlier runs keep their pin", () => {
    assert.equal(writePin({ build: "1.2", definition: undefined }), "1.2");
    assert.deepEqual(readPin("1.2"), { build: "1.2", definition: undefined });
    assert.deepEqual(readPin("[odd"), { build: "[odd", definition: undefined });
  });
});

describe("pins in a claim", () => {
  const table = (code: Partial<WorkerCode>, pinning: RunPinning) =>
    typeClaim("order", { build: "", compatible: [], definitions: { order: "f" }, ...code }, pinning).pins.map(
      ({ pinned, pins }) => [pinned, pins],
    );

  it("a claim binds to the build alone, or to the definition as well", () => {
    assert.deepEqual(table({}, "build"), [
      [undefined, undefined],
      [`[null,"f"]`, `[null,"f"]`],
    ]);
    assert.deepEqual(table({}, "definition"), [
      [undefined, `[null,"f"]`],
      [`[null,"f"]`, `[null,"f"]`],
    ]);
    assert.deepEqual(table({ build: "1" }, "build"), [
      [undefined, "1"],
      ["1", "1"],
      [`[null,"f"]`, `["1","f"]`],
      [`["1","f"]`, `["1","f"]`],
    ]);
    assert.deepEqual(table({ build: "2", compatible: ["1"] }, "definition"), [
      [undefined, `["2","f"]`],
      ["2", `["2","f"]`],
      ["1", `["1","f"]`],
      [`[null,"f"]`, `["2","f"]`],
      [`["2","f"]`, `["2","f"]`],
      [`["1","f"]`, `["1","f"]`],
    ]);
  });

  it("a worker without a fingerprint pins to no definition and claims no run that is pinned to one", () => {
    for (const pinning of ["build", "definition"] as const) {
      assert.deepEqual(table({ build: "1", definitions: { other: "f" } }, pinning), [
        [undefined, "1"],
        ["1", "1"],
      ]);
    }
  });

  it("a claim lists exactly the pins that fit, and a claimed run fits again", () => {
    const few = fc.record({
      build: fc.constantFrom(undefined, "b1", "b2", "b3", "[b"),
      definition: fc.constantFrom(undefined, "f", "g"),
    });
    fc.assert(
      fc.property(codes, pinnings, few, (code, pinning, pin) => {
        const claimed = typeClaim("order", code, pinning).pins;
        const found = claimed.filter(({ pinned }) => pinned === writePin(pin));
        assert.equal(found.length, mayContinue(pin, "order", code) ? 1 : 0);
        for (const { pins: next } of found) {
          assert.ok(mayContinue(readPin(next), "order", code));
          const after = readPin(next);
          assert.equal(after.build, pin.build ?? (code.build || undefined));
          assert.equal(pin.definition ?? after.definition, after.definition);
        }
      }),
    );
  });

  it("the code of a worker follows from its registered row", () => {
    const about = JSON.stringify({ compatible: ["1"], fingerprints: { order: "f" } });
    assert.deepEqual(workerCodeOf({ build: "2", about }), {
      build: "2",
      compatible: ["1"],
      definitions: { order: "f" },
    });
    assert.deepEqual(workerCodeOf({ build: "", about: "{}" }), { build: "", compatible: [], definitions: {} });
  });
});
