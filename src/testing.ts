// What `import … from "limpet/testing"` gives: an app for tests, in memory, whose time moves only when told to; and a whole cluster
// in one process, on virtual time, in which everything can go wrong.
import type { CallSettings } from "./actors/remote.ts";
import { type LimpetSettings, resolveSettings } from "./config/settings.ts";
import type { Duration } from "./kernel/durations.ts";
import type { App, Definitions } from "./nodes/app.ts";
import { openApp } from "./nodes/app.ts";
import { systemRandom } from "./nodes/system.ts";
import type { Log } from "./ports/log.ts";
import { silentLog } from "./ports/log.ts";
import type { Store } from "./ports/store.ts";
import { MemoryStore } from "./stores/memory/memory-store.ts";
import { VirtualClock } from "./world/virtual-clock.ts";

export type { Store } from "./ports/store.ts";
export { MemoryStore } from "./stores/memory/memory-store.ts";
export { CHAOS_FAULTS, type ChaosFault, type ChaosOptions } from "./world/chaos.ts";
export { everySeed, SeedFailed, type SeedOptions } from "./world/seeds.ts";
export type { TestDatabase } from "./world/test-database.ts";
export type { TestHost } from "./world/test-host.ts";
export { type HostRef, openWorld, type TestWorld } from "./world/test-world.ts";
export type {
  TestHostChanges,
  TestHostOptions,
  TestWorldOptions,
  TestWorldSettings,
} from "./world/test-world-options.ts";
export { VirtualClock } from "./world/virtual-clock.ts";

export interface TestOptions extends LimpetSettings, Definitions {
  /** Share one between two apps and they share their actors' state, as two processes on one database do. */
  readonly stateStore?: Store;
  readonly log?: Log;
  /** Whether workflows are replayed after every step, and fail if their code does not do the same again. True unless given. */
  readonly checksReplay?: boolean;
}

export interface TestApp extends App {
  readonly clock: VirtualClock;
  readonly store: Store;
  /** Moves time forward: idle actors leave, timers tick, calls time out. */
  advance(duration: Duration): Promise<void>;
}

const HOUR_MS = 3_600_000;

/** Nobody else writes into the store of a test, so there is no need to look at it often: a year passes in a moment. */
const UNHURRIED = {
  reminders: { pollInterval: "1h", fetchAhead: "1h", lease: "1d" },
  worker: { pollInterval: "1h", lease: "1d" },
} satisfies LimpetSettings;

/** Settings come from the call alone: no file and no environment changes a test. */
export async function testLimpet(options: TestOptions): Promise<TestApp> {
  const clock = new VirtualClock();
  const { actors, workflows, activities, checksReplay = true, ...rest } = options;
  const { stateStore: store = new MemoryStore(() => clock.now()), log = silentLog, ...code } = rest;
  const settings = resolveSettings({ code: { ...UNHURRIED, ...code }, file: false, env: {} });
  const extras = { clock, random: systemRandom, log, store, pingMs: HOUR_MS, checksReplay };
  const app = await openApp({ actors, workflows, activities }, settings, extras);
  const stop = async (): Promise<void> => {
    // A turn that hangs would hold a clock that stands still for ever.
    await Promise.all([app.stop(), clock.advance(settings.drainTimeout + 1)]);
  };
  return {
    clock,
    store,
    host: app.host,
    url: app.url,
    actor: (type: never, id: string, options?: CallSettings) => app.actor(type, id, options) as never,
    reminders: app.reminders,
    jobs: app.jobs,
    workflows: app.workflows,
    add: (type) => app.add(type),
    remove: (type) => app.remove(type),
    metrics: () => app.metrics(),
    advance: (duration) => clock.advance(duration),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
