// Processes that share one store full of reminders, for one test: starts and ends them, sets reminders from
// outside, and afterwards reads their records of every tick (support/bells.ts). Nothing of it outlives the
// test.
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { ReminderProcessing } from "../../src/config/limpet-settings.ts";
import type { ClusterSettings } from "../../src/config/settings.ts";
import { openStore } from "../../src/host/open-store.ts";
import { type App, limpet, type ReminderOptions } from "../../src/index.ts";
import type { ReminderCounts, StoredReminder } from "../../src/ports/store/reminders.ts";
import type { Store } from "../../src/ports/store/store.ts";
import type { Rung, StrokeKind, StrokeLine } from "../support/bells.ts";
import { ClusterProcess } from "../support/cluster-process.ts";
import { standStill } from "../support/stand-still.ts";
import { tracedLines } from "../support/trace-file.ts";
import type { Place } from "../support/two-stores.ts";

/**
 * Long enough to start on a busy machine. No test waits for the lease of a process that is known to be dead.
 */
const CALM = { lease: "15s", leaderLease: "3s", roundTimeout: "8s", moveTimeout: "2s" } satisfies ClusterSettings;
/** Far more than it takes, also on a busy machine. */
const PATIENCE_MS = 300_000;
const LIST_LIMIT = 100_000;

/** Start or end of the handler of one tick. Times are milliseconds since 1970. */
export interface Stroke {
  readonly kind: StrokeKind;
  readonly at: number;
  /** `type/id`. */
  readonly bell: string;
  readonly name: string;
  readonly number: number;
  readonly attempt: number;
  readonly due: number;
  /** Name of the process. */
  readonly process: string;
}

/** One tick that must have run. */
export const tickOf = ({ bell, name, number }: Pick<Stroke, "bell" | "name" | "number">): string =>
  `${bell} ${name} ${number}`;

export interface Kill {
  readonly process: string;
  readonly at: number;
}

export interface BellOptions {
  readonly types?: readonly ("Bell" | "Chimes")[];
  readonly cluster?: ClusterSettings;
}

export class Belfry implements AsyncDisposable {
  readonly kills: Kill[] = [];
  readonly #place: Place;
  readonly #reminders: ReminderProcessing;
  readonly #test: TestContext;
  readonly #app: App;
  readonly #store: Store;
  readonly #processes: ClusterProcess[] = [];
  #finished = false;

  static async open(test: TestContext, place: Place, reminders: ReminderProcessing): Promise<Belfry> {
    const { store } = place;
    const app = await limpet({ actors: [], store, cluster: false, reminders: false, logLevel: "error" });
    return new Belfry(test, place, reminders, app, await openStore(store));
  }

  private constructor(test: TestContext, place: Place, reminders: ReminderProcessing, app: App, store: Store) {
    this.#test = test;
    this.#place = place;
    this.#reminders = reminders;
    this.#app = app;
    this.#store = store;
  }

  // ——— Processes.

  async startAll(names: readonly string[], options: BellOptions = {}): Promise<ClusterProcess[]> {
    return await Promise.all(names.map((name) => this.start(name, options)));
  }

  /** A name is used once. */
  async start(name: string, { types = ["Bell", "Chimes"], cluster }: BellOptions = {}): Promise<ClusterProcess> {
    const folder = join(this.#place.folder, "belfry");
    await mkdir(folder, { recursive: true });
    const one = new ClusterProcess(name, folder, {
      trace: join(folder, `${name}.trace`),
      dedicated: false,
      types,
      detours: {},
      settings: {
        store: this.#place.store,
        storeTimeout: "5s",
        callTimeout: "20s",
        logLevel: "info",
        cluster: { ...CALM, ...cluster, name },
        reminders: this.#reminders,
      },
    });
    this.#processes.push(one);
    await one.ready();
    return one;
  }

  get alive(): ClusterProcess[] {
    return this.#processes.filter(({ dead }) => !dead);
  }

  async kill(host: ClusterProcess): Promise<void> {
    this.kills.push({ process: host.name, at: Date.now() });
    await host.kill();
  }

  /** The process cannot run while `meanwhile` lasts. */
  async paused(host: ClusterProcess, meanwhile: () => Promise<void>): Promise<void> {
    await standStill(host, this.#place.store);
    try {
      await meanwhile();
    } finally {
      host.signal("SIGCONT");
    }
  }

  /** The ids of some bells on this host. */
  async idsOn(host: ClusterProcess, type: "Bell" | "Chimes", count: number): Promise<string[]> {
    const address = await host.address();
    const ids: string[] = [];
    for (let i = 0; ids.length < count; i++) {
      if ((await host.where([type, `${i}`])).owner === address) ids.push(`${i}`);
    }
    return ids;
  }

  /** All hosts know of this many hosts, and nothing is moving. */
  async settled(hosts: number): Promise<void> {
    await this.until(async () => {
      const view = await this.alive[0]!.view().catch(() => undefined);
      const tables = view?.tables ?? [];
      return tables.length > 0 && tables.every((one) => one.phase === "settled" && one.hosts.length === hosts);
    }, `${hosts} hosts, and nothing moves`);
  }

  // ——— Reminders.

  /** Set from outside: no process has claimed them at first. */
  async set(type: string, id: string, name: string, options: ReminderOptions): Promise<void> {
    await this.#app.reminders.set(type, id, name, options);
  }

  async cancel(type: string, id: string, name: string): Promise<void> {
    await this.#app.reminders.cancel(type, id, name);
  }

  async counts(): Promise<ReminderCounts> {
    return await this.#store.reminders.count("default", LIST_LIMIT);
  }

  async rows(): Promise<StoredReminder[]> {
    return await this.#store.reminders.list({ namespace: "default", limit: LIST_LIMIT });
  }

  /** No reminder is left. */
  async done(): Promise<void> {
    await this.until(async () => (await this.counts().catch(() => undefined))?.all === 0, "no reminder is left");
    assert.equal((await this.counts()).dead, 0, "nothing was given up");
  }

  async until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await condition())) {
      assert.ok(performance.now() < deadline, `never happened: ${what}`);
      await pause(20);
    }
  }

  /** Number of leases that running processes lost, and of ticks that they could not settle. */
  async lostLeases(): Promise<number> {
    const names = ["limpet_reminders_lease_lost_total", "limpet_reminders_replaced_total"];
    const counts = this.alive.flatMap((host) => names.map((name) => host.metric(name)));
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  // ——— Records.

  /** In the order of time. */
  async strokes(): Promise<Stroke[]> {
    const all: Stroke[] = [];
    for (const { name: process, role } of this.#processes) {
      for (const line of tracedLines(await readFile(role.trace, "utf8"))) {
        const [kind, at, bell, name, number, attempt, due] = line as StrokeLine;
        all.push({ kind, at, bell, name, number, attempt, due, process });
      }
    }
    return all.sort((one, other) => one.at - other.at);
  }

  /** The ticks in the state of all bells that have one. */
  async rung(): Promise<string[]> {
    const host = this.alive[0]!;
    const ids = new Set((await this.begun()).map(({ bell }) => bell).filter((bell) => bell.startsWith("Chimes/")));
    const kept = [...ids].map(async (bell) => {
      const rung = (await host.call("Chimes", bell.slice("Chimes/".length), "rung")) as readonly Rung[];
      return rung.map(([name, number]) => tickOf({ bell, name, number }));
    });
    return (await Promise.all(kept)).flat();
  }

  async begun(): Promise<Stroke[]> {
    return (await this.strokes()).filter(({ kind }) => kind === "begin");
  }

  /**
   * Each of these ticks has completed at least once, no other has, and none was early by the clock of the
   * store. Returns ticks that began more than once, with all their starts.
   */
  async check(expected: ReadonlySet<string>): Promise<Stroke[][]> {
    await Promise.all(this.alive.map((one) => one.leave()));
    const strokes = await this.strokes();
    const begun = Map.groupBy(
      strokes.filter(({ kind }) => kind === "begin"),
      tickOf,
    );
    const ended = new Set(strokes.filter(({ kind }) => kind === "end").map(tickOf));
    const some = (ticks: ReadonlySet<string>): string[] => [...ticks].slice(0, 10);
    assert.deepEqual(some(expected.difference(ended)), [], "these never ran");
    assert.deepEqual(some(new Set(begun.keys()).difference(expected)), [], "nobody asked for these");
    assert.deepEqual(
      strokes.filter(({ at, due }) => at < due),
      [],
      "early",
    );
    const again = [...begun.values()].filter(({ length }) => length > 1);
    const lateness = [...begun.values()].map(([first]) => first!.at - first!.due).sort((a, b) => a - b);
    const late = (share: number): string => `${lateness[Math.floor((lateness.length - 1) * share)]} ms`;
    this.#test.diagnostic(
      `${begun.size} fired, ${again.length} of them more than once; late: median ${late(0.5)}, p99 ${late(0.99)}, most ${late(1)}`,
    );
    this.#finished = true;
    return again;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A stopped process reacts to no other signal.
    for (const one of this.alive) one.signal("SIGKILL");
    await Promise.all(this.#processes.map(({ ended }) => ended));
    await this.#app.stop();
    await this.#store.close();
    if (this.#finished || process.env.CLUSTER_LOGS === undefined) return;
    for (const { name, output } of this.#processes) this.#test.diagnostic(`${name} said:\n${output}`);
  }
}
