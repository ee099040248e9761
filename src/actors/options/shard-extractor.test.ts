import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { shardOf } from "../../kernel/shards.ts";
import { ownExtractor } from "./shard-extractor.ts";

const refused = (what: () => unknown, text: RegExp) =>
  assert.throws(what, (error) => isLimpetError(error, "SHARD_INVALID") && text.test(error.message));

describe("the application's own rule for shards", () => {
  it("gives a number or a text, which is hashed", () => {
    const extract = ownExtractor((id) => (id.startsWith("n") ? Number(id.slice(1)) : id.split("-")[0]), 10, "C");
    assert.equal(extract("n7"), 7);
    assert.equal(extract("n27"), 7);
    assert.equal(extract("berlin-1"), shardOf("berlin", 10));
    assert.equal(extract("berlin-2"), extract("berlin-1"));
  });

  it("that throws is told so, with what it threw, and may do better next time", () => {
    let isBroken = true;
    const broken = new RangeError("too far");
    const extract = ownExtractor(
      () => {
        if (isBroken) throw broken;
        return 3;
      },
      10,
      "C.placement",
    );
    assert.throws(
      () => extract("a"),
      (error) =>
        isLimpetError(error, "SHARD_INVALID") && error.cause === broken && /failed for a: too far/.test(error.message),
    );
    isBroken = false;
    assert.equal(extract("a"), 3);
  });

  it("that throws what is no text, or a very long one, is told so all the same", () => {
    const [odd, unreadable] = [new Error("odd"), new Error("unreadable")];
    Object.defineProperty(odd, "message", { value: Object.create(null) });
    Object.defineProperty(unreadable, "message", { get: () => assert.fail("nobody may look") });
    for (const thrown of [Object.create(null), Symbol("no"), odd, unreadable, new Error("far ".repeat(1_000_000))]) {
      const extract = ownExtractor(
        () => {
          throw thrown;
        },
        10,
        "C",
      );
      assert.throws(
        () => extract("a"),
        (error) => isLimpetError(error, "SHARD_INVALID") && error.cause === thrown && error.message.length < 1_100,
      );
    }
  });

  it("that gives nonsense is told so", () => {
    const values = [undefined, null, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, {}, [], true, Promise.resolve(1)];
    for (const value of values)
      refused(() => ownExtractor(() => value, 10, "C")("a"), /must give a text or a whole number/);
  });

  it("that waits is told so, and what becomes of it later is of no account", async (t) => {
    const failing = async () => {
      throw new TypeError("no such room");
    };
    const unheard = t.mock.fn();
    process.once("unhandledRejection", unheard);
    t.after(() => process.off("unhandledRejection", unheard));
    refused(() => ownExtractor(failing, 10, "C")("a"), /gave a promise for a/);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(unheard.mock.callCount(), 0);
  });

  it("that changes its mind is told so; what it has said before counts", () => {
    let said = 0;
    refused(() => ownExtractor(() => said++, 10, "C")("a"), /changed its mind on a/);
    let shard = 1;
    const extract = ownExtractor(() => shard, 10, "C");
    assert.equal(extract("a"), 1);
    shard = 2;
    assert.equal(extract("a"), 1);
    assert.equal(extract("b"), 2);
  });
});
