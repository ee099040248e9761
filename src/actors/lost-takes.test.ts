// Takes of actors when the lease of their host ends.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "../host/system.ts";
import { LimpetError } from "../kernel/errors.ts";
import { silentLog } from "../ports/log.ts";
import { silentMeter } from "../ports/meter.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { Catalog } from "./catalog.ts";

const SETTINGS = {
  namespace: "n",
  idleTimeoutMs: 1_000,
  callTimeoutMs: 1_000,
  mailboxLimit: 1,
  maxResident: 1,
  drainTimeoutMs: 0,
  storeTimeoutMs: 60_000,
};

/** A store that never answers a take. */
class SilentStore extends MemoryStore {
  attempts = 0;

  override async take(): Promise<never> {
    this.attempts++;
    throw new LimpetError("STORE_UNAVAILABLE", "the connection was lost");
  }
}

test("a take without an answer is retried, but not after its host has lost its lease", async () => {
  const clock = new VirtualClock();
  const store = new SilentStore();
  const catalog = new Catalog([], SETTINGS, { clock, random: systemRandom, log: silentLog, meter: silentMeter, store });
  const outcome = catalog.prefetch("Cart", "a").catch(({ code }: LimpetError) => code);
  await clock.advance("5s");
  const { attempts } = store;
  assert.ok(attempts > 2);
  catalog.dropAll();
  await clock.advance("30s");
  assert.equal(store.attempts, attempts);
  assert.equal(await outcome, "STORE_UNAVAILABLE");
});
