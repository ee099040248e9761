import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../../kernel/errors.ts";
import { silentMeter } from "../../ports/meter.ts";
import type { Shards } from "../../ports/store/shards.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { RememberedWriter } from "./writer.ts";

describe("the writer of remembered actors", () => {
  it("a closed writer rejects its waiting changes and sends nothing more", async () => {
    const clock = new VirtualClock();
    let attempts = 0;
    const remember: Shards["remember"] = async () => {
      attempts++;
      throw new LimpetError("STORE_UNAVAILABLE", "down");
    };
    const writer = new RememberedWriter(60_000, {
      clock,
      random: { number: () => 0.5, id: () => "" },
      meter: silentMeter,
      shards: { remember } as Shards,
    });
    const change = { namespace: "default", type: "Guard", shard: 1, id: "a", isKept: true };
    const rejected = assert.rejects(writer.write("host-1", change), { code: "STORE_UNAVAILABLE" });
    await clock.advance(5_000);
    assert.ok(attempts > 1, "an open writer retries");
    writer.close();
    await rejected;
    const before = attempts;
    await clock.advance(60_000);
    assert.equal(attempts, before);
  });
});
