import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { codeOf, fits, type Pinning, readBinding, typeClaim, type WorkerCode, writeBinding } from "./bindings.ts";

const texts = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.constantFrom("[", "[]", `["b","f"]`, `[null,"f"]`, `[["b"]]`, "{}", "\0", "\ud800", "constructor", "__proto__"),
);
const bindings = fc.record({
  build: fc.option(texts, { nil: undefined }),
  definition: fc.option(texts, { nil: undefined }),
});
const codes: fc.Arbitrary<WorkerCode> = fc.record({
  build: fc.constantFrom("", "b1", "b2", "[b"),
  compatible: fc.constantFrom([], ["b1"], ["b2", "b3", "b2"], [""]),
  definitions: fc.constantFrom({}, { order: "f" }, { order: "g", other: "f" }, { order: "" }),
});
const pinnings = fc.constantFrom<Pinning[]>("build", "definition");

describe("what a run is bound to", () => {
  it("is read as it was written", () => {
    fc.assert(
      fc.property(bindings, (binding) => {
        assert.deepEqual(readBinding(writeBinding(binding)), { ...binding });
      }),
    );
  });

  it("is the same text only if it is the same", () => {
    fc.assert(
      fc.property(bindings, bindings, (one, other) => {
        const isSame = one.build === other.build && one.definition === other.definition;
        assert.equal(writeBinding(one) === writeBinding(other), isSame);
      }),
    );
  });

  it("is a build as it stands, so that runs of before are bound to what they were bound to", () => {
    assert.equal(writeBinding({ build: "1.2", definition: undefined }), "1.2");
    assert.deepEqual(readBinding("1.2"), { build: "1.2", definition: undefined });
    assert.deepEqual(readBinding("[odd"), { build: "[odd", definition: undefined });
  });
});

describe("what a worker claims", () => {
  const table = (code: Partial<WorkerCode>, pinning: Pinning) =>
    typeClaim("order", { build: "", compatible: [], definitions: { order: "f" }, ...code }, pinning).bindings.map(
      ({ bound, binds }) => [bound, binds],
    );

  it("binds to its build alone, or to the definition as well", () => {
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

  it("binds to no definition, and has nothing that is bound to one, when it told none", () => {
    for (const pinning of ["build", "definition"] as const) {
      assert.deepEqual(table({ build: "1", definitions: { other: "f" } }, pinning), [
        [undefined, "1"],
        ["1", "1"],
      ]);
    }
  });

  it("is what fits, and nothing else; and what it has it may have again", () => {
    const few = fc.record({
      build: fc.constantFrom(undefined, "b1", "b2", "b3", "[b"),
      definition: fc.constantFrom(undefined, "f", "g"),
    });
    fc.assert(
      fc.property(codes, pinnings, few, (code, pinning, binding) => {
        const claimed = typeClaim("order", code, pinning).bindings;
        const found = claimed.filter(({ bound }) => bound === writeBinding(binding));
        assert.equal(found.length, fits(binding, "order", code) ? 1 : 0);
        for (const { binds } of found) {
          assert.ok(fits(readBinding(binds), "order", code));
          const after = readBinding(binds);
          assert.equal(after.build, binding.build ?? (code.build || undefined));
          assert.equal(binding.definition ?? after.definition, after.definition);
        }
      }),
    );
  });

  it("follows from what it told of itself", () => {
    const about = JSON.stringify({ compatible: ["1"], fingerprints: { order: "f" } });
    assert.deepEqual(codeOf({ build: "2", about }), { build: "2", compatible: ["1"], definitions: { order: "f" } });
    assert.deepEqual(codeOf({ build: "", about: "{}" }), { build: "", compatible: [], definitions: {} });
  });
});
