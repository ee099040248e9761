import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemRandom } from "./system.ts";

describe("the chance of this machine", () => {
  it("gives ids that are short, fit into a URL and are never the same", () => {
    const ids = Array.from({ length: 5_000 }, () => systemRandom.id());
    for (const id of ids) assert.match(id, /^[\w-]{22}$/);
    assert.equal(new Set(ids).size, ids.length);
    // Nor do they have anything in common that is not chance: every character is at every place.
    for (let place = 0; place < 21; place++) assert.equal(new Set(ids.map((id) => id[place])).size, 64);
  });
});
