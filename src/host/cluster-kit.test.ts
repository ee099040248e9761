// Several apps in one process that share a store in memory, for tests of a cluster.
import assert from "node:assert/strict";
import { availableParallelism, loadavg } from "node:os";
import { Actor } from "../actors/actor.ts";
import type { ActorClass } from "../actors/routing/remote.ts";
import type { LimpetSettings } from "../config/settings.ts";
import { resolveSettings } from "../config/settings.ts";
import type { Clock } from "../ports/clock.ts";
import { silentLog } from "../ports/log.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { type App, type Extras, openApp } from "./app.ts";
import { systemClock } from "./system.ts";

export class Tally extends Actor<{ count: number }> {
  initial() {
    return { count: 0 };
  }

  add() {
    return ++this.state.count;
  }

  async slow(ms: number) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return ++this.state.count;
  }
}

export class Other extends Actor {
  ping() {
    return "pong";
  }
}

export class Third extends Actor {
  ping() {
    return "pong";
  }
}

/** On such a machine a process may wait for the CPU for seconds. */
export const isBusy = loadavg()[0]! > 3 * availableParallelism();
/** A second host waits for a quarter of the leader's lease, so long leases are not always usable. */
export const LEASES = {
  lease: "30s",
  leaderLease: isBusy ? "10s" : "1s",
  roundTimeout: "20s",
  moveTimeout: "5s",
} as const;
/** For tests that wait for the end of a lease. */
export const SHORT_LEASES = isBusy
  ? ({ lease: "8s", leaderLease: "3s", roundTimeout: "6s", moveTimeout: "2s" } as const)
  : ({ lease: "2s", leaderLease: "600ms", roundTimeout: "1500ms", moveTimeout: "500ms" } as const);
const PATIENCE_MS = 120_000;

/** Time that passes slowly, so that no limit of an app ends while it waits for the CPU. */
export function slowed(times: number): Clock {
  const [wall, start] = [Date.now(), performance.now()];
  const passed = (): number => (performance.now() - start) / times;
  return {
    now: () => wall + Math.floor(passed()),
    monotonic: passed,
    after: (ms, fn, background) => systemClock.after(ms * times, fn, background),
    soon: systemClock.soon,
  };
}

export class TestApps implements AsyncDisposable {
  readonly store: MemoryStore;
  readonly #apps: App[] = [];
  readonly #cluster: LimpetSettings["cluster"];
  readonly #clock: Clock;

  /** Cluster settings and clock of all apps; the store uses the same clock. */
  constructor(cluster: Exclude<LimpetSettings["cluster"], boolean | undefined> = {}, clock: Clock = systemClock) {
    this.#cluster = { ...LEASES, ...cluster };
    this.#clock = clock;
    this.store = new MemoryStore(() => clock.now());
  }

  async open(actors: readonly ActorClass[], code: LimpetSettings = {}, extras: Extras = {}): Promise<App> {
    const settings = resolveSettings({ code: { cluster: this.#cluster, ...code }, file: false, env: {} });
    const world = { store: this.store, clock: this.#clock, clustered: true, log: silentLog };
    const app = await openApp({ actors }, settings, { ...world, ...extras });
    this.#apps.push(app);
    return app;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#apps.map((app) => app.stop()));
  }
}

export async function eventually(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; ) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`never came about: ${what}`);
}

/** Waits until every table is in force and names this many hosts. */
export async function settled(app: App, hosts: number): Promise<void> {
  await eventually(async () => {
    const { tables } = await app.host.cluster();
    return tables.every((table) => table.phase === "settled" && table.hosts.length === hosts);
  }, `tables with ${hosts} hosts`);
}

/** The number of hosts of each type. */
export async function hostsOf(app: App): Promise<Record<string, number>> {
  const { tables } = await app.host.cluster();
  return Object.fromEntries(tables.map(({ type, hosts }) => [type, hosts.length]));
}
