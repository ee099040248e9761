// Several processes on one store in memory and one clock, for tests of activities. Each can crash at any
// moment.
import { type LimpetSettings, resolveSettings } from "../config/settings.ts";
import { type App, openApp } from "../host/app.ts";
import { systemRandom } from "../host/system.ts";
import { LimpetError } from "../kernel/errors.ts";
import { type Log, silentLog } from "../ports/log.ts";
import { interceptStore, type StorePart } from "../ports/store/intercept.ts";
import type { Store } from "../ports/store/store.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { AppLife, mortalClock } from "../testing/life.ts";
import { MortalStore, type MortalStoreDeps } from "../testing/mortal-store.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import type { ActivityFunction } from "./definition/context.ts";
import type { AnyWorkflow } from "./definition/definition.ts";

export interface TestProcessOptions {
  readonly workflows?: readonly AnyWorkflow[];
  readonly activities?: Readonly<Record<string, ActivityFunction>>;
  readonly queue?: string;
  readonly worker?: LimpetSettings["worker"];
  readonly log?: Log;
  readonly checksReplay?: boolean;
}

export class TestProcesses implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly store = new MemoryStore(() => this.clock.now());
  /** The store does not answer. */
  isAway = false;
  readonly #apps = new Map<App, AppLife>();

  /** Seconds since the beginning. */
  get seconds(): number {
    return this.clock.monotonic() / 1_000;
  }

  async open({
    workflows,
    activities,
    queue = "default",
    worker,
    log,
    checksReplay = true,
  }: TestProcessOptions): Promise<App> {
    const life = new AppLife();
    const world: MortalStoreDeps = { store: this.#reached(), life, step: () => "writes", end: () => {} };
    const settings = resolveSettings({
      code: {
        reminders: { pollInterval: "10s", fetchAhead: "10s", lease: "30s" },
        worker: { pollInterval: "10s", lease: "30s", queue, ...(worker as object) },
        drainTimeout: "10s",
      },
      file: false,
      env: {},
    });
    const app = await openApp({ workflows, activities }, settings, {
      clock: mortalClock(this.clock, life),
      store: new MortalStore(world).view,
      random: systemRandom,
      log: log ?? silentLog,
      checksReplay,
      pingMs: 3_600_000,
    });
    this.#apps.set(app, life);
    return app;
  }

  /** The store, unless it is unavailable. */
  #reached(): Store {
    const isGuarded = (part: StorePart, method: string): boolean =>
      (part === "workflows" || part === "reminders") && method !== "watch";
    return interceptStore<Store>(this.store, (part, method, _, next) => {
      if (!this.isAway || !isGuarded(part, method)) return next();
      return Promise.reject(new LimpetError("STORE_UNAVAILABLE", "it is away"));
    });
  }

  /** Crashes the process with everything in its memory, without a notification. */
  kill(app: App): void {
    this.#apps.get(app)!.end();
    this.#apps.delete(app);
  }

  /** Stops the process properly, while time passes. */
  async stop(app: App): Promise<void> {
    this.#apps.delete(app);
    await Promise.all([app.stop(), this.clock.advance("1m")]);
  }

  advance(duration: string): Promise<void> {
    return this.clock.advance(duration);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = Promise.all([...this.#apps.keys()].map((app) => app.stop()));
    await Promise.all([stopped, this.clock.advance("1m")]);
  }
}
