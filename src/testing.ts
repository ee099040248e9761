// Exports of "limpet/testing": an app for tests, in memory, with a clock that only the test advances; and a
// whole cluster in one process, on virtual time and with injected faults.

export type { Store } from "./ports/store/store.ts";
export { MemoryStore } from "./stores/memory/memory-store.ts";
export type {
  ActivityCall,
  ActivityFailureOptions as FailureOptions,
  ActivityMock,
  ActivityStandIn,
} from "./testing/activity-mock.ts";
export type { WhichStep } from "./testing/durable-steps.ts";
export { CrashFailed, everyCrash } from "./testing/every-crash.ts";
export {
  type RecordedHistory,
  type ReplayedRun,
  type ReplayOptions,
  replayHistory,
} from "./testing/replay-history.ts";
export { type CrashOptions, type TestApp, type TestOptions, testLimpet } from "./testing/test-app.ts";
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
