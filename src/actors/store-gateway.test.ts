// The requests of actors to the store when the process stops.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "../host/system.ts";
import { LimpetError } from "../kernel/errors.ts";
import { silentMeter } from "../ports/meter.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { StoreGateway } from "./store-gateway.ts";

/** A store that answers no commit. */
class SilentStore extends MemoryStore {
  attempts = 0;

  override async commit(): Promise<never> {
    this.attempts++;
    throw new LimpetError("STORE_UNAVAILABLE", "the connection was lost");
  }
}

test("a commit that waits for the store is dropped when the process stops", async () => {
  const clock = new VirtualClock();
  const store = new SilentStore();
  const gateway = new StoreGateway("n", "i", 60_000, { clock, random: systemRandom, meter: silentMeter, store });
  const outcomes: unknown[] = [];
  gateway.commit(1, 1, 0, { kind: "keep" }, undefined, {
    resolve: (outcome) => outcomes.push(outcome),
    reject: (error) => outcomes.push((error as LimpetError).code),
  });
  await clock.advance("5s");
  const { attempts } = store;
  assert.ok(attempts > 2);
  assert.deepEqual(outcomes, []);
  gateway.close();
  assert.deepEqual(outcomes, ["STORE_UNAVAILABLE"]);
  await clock.advance("30s");
  assert.equal(store.attempts, attempts);
});
