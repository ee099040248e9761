// An app for tests, in memory, whose time moves only by the test. Its process can crash at any point and
// start again. The store, the mocks of activities and the waits of the test outlive it.
import type { ActorClass, CallSettings } from "../actors/routing/remote.ts";
import { type LimpetSettings, resolveSettings } from "../config/settings.ts";
import type { App, Definitions } from "../host/app.ts";
import { checkRuntime } from "../host/runtime.ts";
import type { Duration } from "../kernel/durations.ts";
import type { Log } from "../ports/log.ts";
import { silentLog } from "../ports/log.ts";
import type { Store } from "../ports/store/store.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import type { ActivityFunction } from "../workflows/definition/context.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { type ActivityMock, ActivityMocks, type ActivityStandIn } from "./activity-mock.ts";
import { DurableSteps, type WhichStep } from "./durable-steps.ts";
import { lastingClient } from "./lasting-client.ts";
import { TestMachine } from "./test-machine.ts";

export type Activities = Readonly<Record<string, ActivityFunction>>;

export interface TestOptions<A extends Activities = Activities>
  extends LimpetSettings,
    Omit<Definitions, "activities"> {
  readonly activities?: A;
  /**
   * Two apps with the same store share their actors' state and their workflows, as two processes on one
   * database do.
   */
  readonly stateStore?: Store;
  /** Two apps with the same clock share the time as well. */
  readonly clock?: VirtualClock;
  readonly log?: Log;
  /**
   * Replays workflows after every step, and fails if their code does not do the same again. True by default.
   */
  readonly checksReplay?: boolean;
}

export interface CrashOptions {
  /** Time until it is up again. Default: none. */
  readonly downFor?: Duration;
}

export interface TestApp<A extends Activities = Activities> extends App {
  readonly clock: VirtualClock;
  readonly store: Store;
  /** Moves time forward: idle actors leave, timers tick, calls time out. */
  advance(duration: Duration): Promise<void>;

  /**
   * Replaces the activity, which is given itself or by its name, from now on. Without a function the activity
   * runs as usual, and its calls are recorded.
   */
  mock<F extends ActivityFunction>(activity: F, standIn?: ActivityStandIn<F>): ActivityMock<F>;
  mock<Name extends keyof A & string>(name: Name, standIn?: ActivityStandIn<A[Name]>): ActivityMock<A[Name]>;

  /** The process ends, with everything in its memory, and another one starts on the same store. */
  crash(options?: CrashOptions): Promise<void>;
  /**
   * The process crashes instead of writing that step: its number from now on, or a part of the text of the
   * next one, as in `crashBefore("ActivityCompleted")`. Another process starts at once.
   */
  crashBefore(step: WhichStep): void;
  /** The process crashes right after that step is written, before it gets the response. */
  crashAfter(step: WhichStep): void;
  /** Every durable write in order: `crashBefore` and `crashAfter` refer to these. */
  readonly steps: readonly string[];
  /**
   * The process stops in an orderly way, and another one starts, with other code if it is given: a
   * deployment.
   */
  restart(changes?: Definitions): Promise<void>;
  /** Drops workflows that are idle in memory; they are replayed at their next event. Returns their number. */
  dropWarmRuns(): number;
}

/** No other process writes into the store of a test, so rare polls suffice: a year passes in a moment. */
const UNHURRIED = {
  reminders: { pollInterval: "1h", fetchAhead: "1h", lease: "1d" },
  worker: { pollInterval: "1h", lease: "1d" },
} satisfies LimpetSettings;

/** Settings come from the call alone: no file and no environment changes a test. */
export async function testLimpet<const A extends Activities = Record<never, never>>(
  options: TestOptions<A>,
): Promise<TestApp<A>> {
  checkRuntime();
  const { actors, workflows, activities, checksReplay = true, clock = new VirtualClock(), ...rest } = options;
  const { stateStore: store = new MemoryStore(() => clock.now()), log = silentLog, ...code } = rest;
  const settings = resolveSettings({ code: { ...UNHURRIED, ...code }, file: false, env: {} });
  const steps = new DurableSteps();
  const mocks = new ActivityMocks(activities ?? {}, () => clock.now());
  const around = { clock, store, log, settings, checksReplay, steps, mocks };
  const machine = new TestMachine({ actors, workflows, activities }, around);
  await machine.start();
  const app = (): App => machine.process.app;
  const stop = (): Promise<void> => machine.stop();
  return {
    clock,
    store,
    get host() {
      return app().host;
    },
    get url() {
      return app().url;
    },
    get reminders() {
      return app().reminders;
    },
    get jobs() {
      return app().jobs;
    },
    workflows: lastingClient(machine),
    actor: (type: never, id: string, options?: CallSettings) => actorOf(machine, type, id, options),
    shards: (type) => app().shards(type),
    region: (type: never, options?: CallSettings) => app().region(type, options) as never,
    add: (type) => app().add(type),
    remove: (type) => app().remove(type),
    metrics: () => app().metrics(),
    advance: (duration) => clock.advance(duration),
    mock: (of: ActivityFunction | string, standIn?: ActivityStandIn<ActivityFunction>) => mocks.mock(of, standIn),
    crash: ({ downFor = 0 } = {}) => machine.crash(downFor),
    crashBefore: (step) => steps.plan(step, "ends before"),
    crashAfter: (step) => steps.plan(step, "ends after"),
    get steps() {
      return steps.written;
    },
    restart: (changes = {}) => {
      mocks.know(changes.activities ?? {});
      return machine.restart(changes);
    },
    dropWarmRuns: () => {
      const { cache } = machine.process.workflows.worker;
      const { size } = cache.numbers;
      cache.clear();
      return size;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/**
 * Calls through the process that is up then. If it crashes before the answer, the caller gets an ambiguous
 * outcome.
 */
function actorOf(machine: TestMachine, type: ActorClass & string, id: string, settings?: CallSettings): never {
  type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;
  const handleAt = (app: App): Methods => app.actor(type as string, id, settings) as Methods;
  return new Proxy(handleAt(machine.process.app), {
    get(handle, method) {
      // A handle must not look like a promise, or `await` would call it.
      if (typeof method === "symbol" || method === "then" || method === "toJSON") return Reflect.get(handle, method);
      return (...args: unknown[]) => machine.ask(({ app }) => handleAt(app)[method]!(...args), "reject");
    },
  }) as never;
}
