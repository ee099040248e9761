import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { hash64 } from "./hashes.ts";

function whole(text: string): bigint {
  const halves = new Uint32Array(2);
  hash64(text, halves);
  return (BigInt(halves[0]!) << 32n) | BigInt(halves[1]!);
}

describe("hash of a text", () => {
  it("the hash of a text equals the one of Dapr", () => {
    assert.equal(whole("actor-1"), 10015260465285814958n);
    assert.equal(whole("192.168.1.83:609920"), 11414427053803968138n);
    assert.equal(whole("192.168.1.89:623622"), 694935339057032644n);
  });

  it("the hash of any text is the first eight bytes of BLAKE2b-512 of its UTF-8", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        assert.equal(whole(text), createHash("blake2b512").update(text, "utf8").digest().readBigUInt64LE(0));
      }),
    );
  });

  it("the hash is written only to the given place", () => {
    const array = new Uint32Array(5).fill(7);
    hash64("actor-1", array, 2);
    assert.deepEqual([...array], [7, 7, 2331859540, 2120211118, 7]);
  });
});
