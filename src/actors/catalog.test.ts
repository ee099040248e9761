// The connections of a catalog to the other parts of a process.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemRandom } from "../host/system.ts";
import { silentLog } from "../ports/log.ts";
import { silentMeter } from "../ports/meter.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import type { ActorFeatures } from "./activation-deps.ts";
import { Catalog } from "./catalog.ts";
import type { ActorRouting } from "./routing/actor-routing.ts";

const SETTINGS = {
  namespace: "n",
  idleTimeoutMs: 1_000,
  callTimeoutMs: 1_000,
  mailboxLimit: 1,
  maxResident: 1,
  drainTimeoutMs: 0,
  storeTimeoutMs: 60_000,
};

function catalog(): Catalog {
  const shared = { clock: new VirtualClock(), random: systemRandom, log: silentLog, meter: silentMeter };
  return new Catalog([], SETTINGS, { ...shared, store: new MemoryStore() });
}

describe("the catalog of a process", () => {
  it("a catalog joins one cluster, and keeps its routing", () => {
    const one = catalog();
    const routing = { isAlone: false } as ActorRouting;
    one.join(routing);
    assert.throws(() => one.join({ isAlone: false } as ActorRouting), {
      code: "INVARIANT",
      message: /joins one cluster/,
    });
    assert.equal(one.routing, routing);
  });

  it("each feature is connected once, and another feature may follow", () => {
    const one = catalog();
    const reminders = {} as NonNullable<ActorFeatures["reminders"]>;
    const workflows = {} as NonNullable<ActorFeatures["workflows"]>;
    one.connect({ reminders });
    assert.throws(() => one.connect({ workflows, reminders: {} as typeof reminders }), {
      code: "INVARIANT",
      message: /the reminders of actors are connected once/,
    });
    assert.deepEqual([one.features.reminders === reminders, one.features.workflows], [true, undefined]);
    one.connect({ workflows });
    assert.deepEqual([one.features.reminders === reminders, one.features.workflows === workflows], [true, true]);
  });
});
