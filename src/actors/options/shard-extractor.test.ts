import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { shardOf } from "../../kernel/shards.ts";
import { ownExtractor } from "./shard-extractor.ts";

const refused = (what: () => unknown, text: RegExp) =>
  assert.throws(what, (error) => isLimpetError(error, "SHARD_INVALID") && text.test(error.message));

describe("a custom shardOf", () => {
  it("a custom shardOf returns a number, or a text that is hashed", () => {
    const extract = ownExtractor((id) => (id.startsWith("n") ? Number(id.slice(1)) : id.split("-")[0]), 10, "C");
    assert.equal(extract("n7"), 7);
    assert.equal(extract("n27"), 7);
    assert.equal(extract("berlin-1"), shardOf("berlin", 10));
    assert.equal(extract("berlin-2"), extract("berlin-1"));
  });

  it("a shardOf that throws is reported with its error, and is called again for the next call", () => {
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

  it("a shardOf that throws a value without text, or with a long one, is reported as well", () => {
    const [odd, unreadable] = [new Error("odd"), new Error("unreadable")];
    Object.defineProperty(odd, "message", { value: Object.create(null) });
    Object.defineProperty(unreadable, "message", { get: () => assert.fail("the message must not be read") });
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

  it("a shardOf that returns an invalid value is rejected", () => {
    const values = [undefined, null, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, {}, [], true, Promise.resolve(1)];
    for (const value of values)
      refused(() => ownExtractor(() => value, 10, "C")("a"), /must return a text or a whole number/);
  });

  it("a shardOf that returns a promise is rejected, and the promise is ignored", async (t) => {
    const failing = async () => {
      throw new TypeError("no such room");
    };
    const unheard = t.mock.fn();
    process.once("unhandledRejection", unheard);
    t.after(() => process.off("unhandledRejection", unheard));
    refused(() => ownExtractor(failing, 10, "C")("a"), /got a promise for a/);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(unheard.mock.callCount(), 0);
  });

  it("a shardOf that changes its result is rejected, and the first result counts", () => {
    let calls = 0;
    refused(
      () => ownExtractor(() => calls++, 10, "C")("a"),
      /must return the same shard for the same id; got two for a/,
    );
    let shard = 1;
    const extract = ownExtractor(() => shard, 10, "C");
    assert.equal(extract("a"), 1);
    shard = 2;
    assert.equal(extract("a"), 1);
    assert.equal(extract("b"), 2);
  });
});
