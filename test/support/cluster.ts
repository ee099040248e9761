// A cluster of real processes for one test: starts them and loads them. Afterwards it compares the outcomes
// of callers with the store, and checks every actor for two activations at once. Nothing of it outlives the
// test.
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { ClusterSettings } from "../../src/config/settings.ts";
import { limpet } from "../../src/index.ts";
import { stretched, stretchedCluster } from "./busy.ts";
import { type ActorTypeName, type Stop, traceClock } from "./cluster-actors.ts";
import { ClusterLoad } from "./cluster-load.ts";
import { ClusterProcess } from "./cluster-process.ts";
import { LifeTrace, type Pause } from "./life-trace.ts";
import { dice } from "./seed.ts";
import { standStill } from "./stand-still.ts";
import { Tally } from "./tally.ts";
import type { Place } from "./two-stores.ts";

/**
 * Short, so that a test need not wait long, and all in the proportions of the defaults. `TestCluster`
 * stretches them on a busy machine.
 */
export const BRISK = {
  lease: "2s",
  leaderLease: "600ms",
  roundTimeout: "1500ms",
  moveTimeout: "500ms",
} satisfies ClusterSettings;

export interface StartOptions {
  readonly types?: readonly ActorTypeName[];
  readonly cluster?: ClusterSettings;
  readonly schedulers?: readonly string[];
  readonly dedicated?: boolean;
  readonly detours?: Readonly<Record<number, number>>;
  readonly storeTimeout?: string;
  readonly callTimeout?: string;
}

export class TestCluster implements AsyncDisposable {
  readonly load: ClusterLoad;
  readonly #place: Place;
  readonly #folder: string;
  readonly #settings: ClusterSettings;
  readonly #processes: ClusterProcess[] = [];
  readonly #pauses: Pause[] = [];
  readonly #test: TestContext;
  #finished = false;

  /** `store`: its own database, in a place that others use too. */
  constructor(test: TestContext, place: Place, settings: ClusterSettings = {}) {
    this.#test = test;
    this.#place = place;
    this.#folder = join(place.folder, `cluster ${process.hrtime.bigint()}`);
    this.#settings = stretchedCluster({ ...BRISK, ...settings });
    this.load = new ClusterLoad(dice(test));
  }

  get store(): string {
    return this.#place.store;
  }

  /** All at once. */
  async startAll(names: readonly string[], options: StartOptions = {}): Promise<ClusterProcess[]> {
    return await Promise.all(names.map((name) => this.start(name, options)));
  }

  async start(name: string, options: StartOptions = {}): Promise<ClusterProcess> {
    await mkdir(this.#folder, { recursive: true });
    const { storeTimeout = "5s", callTimeout = "20s", schedulers = [] } = options;
    const one = new ClusterProcess(name, this.#folder, {
      trace: join(this.#folder, `${name}.trace`),
      dedicated: options.dedicated ?? false,
      types: options.types ?? ["Tally"],
      detours: options.detours ?? {},
      settings: {
        store: this.#place.store,
        storeTimeout: stretched(storeTimeout),
        callTimeout: stretched(callTimeout),
        schedulers,
        logLevel: "info",
        cluster: { ...this.#settings, ...stretchedCluster(options.cluster ?? {}), name },
      },
    });
    this.#processes.push(one);
    await one.ready();
    return one;
  }

  get alive(): ClusterProcess[] {
    return this.#processes.filter(({ dead }) => !dead);
  }

  /** The leader among the running processes. */
  async leader(): Promise<ClusterProcess> {
    let found: ClusterProcess | undefined;
    await this.load.until(async () => {
      const leads = await Promise.all(this.alive.map(async (one) => ((await one.leads()) ? [one] : [])));
      [found] = leads.flat();
      return leads.flat().length === 1;
    }, "somebody leads");
    return found!;
  }

  /** All hosts know this many hosts of the type, and nothing is moving. */
  async settled(hosts: number, type = "Tally"): Promise<void> {
    await this.load.until(async () => {
      const [first] = this.alive;
      const view = await first!.view().catch(() => undefined);
      const table = view?.tables.find((one) => one.type === type);
      return table?.phase === "settled" && table.hosts.length === hosts;
    }, `${hosts} hosts of ${type}, and nothing moves`);
  }

  /** The id of an actor on the given host. */
  async idOn(host: ClusterProcess, type: string, prefix: string): Promise<string> {
    const address = await host.address();
    for (let i = 0; i < 1_000; i++) {
      const stop: Stop = [type, `${prefix} ${i}`];
      if ((await host.where(stop)).owner === address) return stop[1];
    }
    assert.fail(`none of 1000 ids lives on ${host.name}`);
  }

  /** The process cannot run while `meanwhile` lasts. */
  async paused(host: ClusterProcess, meanwhile: () => Promise<void>): Promise<void> {
    const from = await standStill(host, this.store);
    try {
      await meanwhile();
    } finally {
      this.#pauses.push({ process: host.name, from, until: traceClock() });
      host.signal("SIGCONT");
    }
  }

  /** Every error of the callers is one of these. */
  expectOnly(...codes: readonly string[]): void {
    this.#test.diagnostic(this.load.summary);
    const others = new Set(this.load.ledger.errors.keys()).difference(new Set(codes));
    assert.deepEqual([...others], [], `callers were told ${this.load.summary}`);
  }

  /** Ends the load and all processes, then audits the store. */
  async audit(): Promise<void> {
    await this.load.stop();
    // Hosts hand over nothing while there is no scheduler.
    for (const dedicated of [false, true]) {
      await Promise.all(this.alive.filter(({ role }) => role.dedicated === dedicated).map((one) => one.leave()));
    }
    const { ledger } = this.load;
    const files = new Map<string, string>();
    for (const { name, role } of this.#processes) files.set(name, await readFile(role.trace, "utf8"));
    const trace = new LifeTrace(files);
    trace.checkAlone(this.#pauses);
    await using reader = await limpet({ actors: [Tally], store: this.#place.store, cluster: false, logLevel: "error" });
    await ledger.audit({
      version: async (id) => (await reader.host.explain("Tally", id)).stored?.version,
      report: async (id) => {
        const report = await reader.actor(Tally, id).report();
        trace.checkCommits(id, report.seen);
        return report;
      },
    });
    this.#test.diagnostic(`${trace.lives} lives`);
    this.#finished = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A stopped process reacts to no other signal.
    for (const one of this.alive) one.signal("SIGKILL");
    await Promise.all(this.#processes.map(({ ended }) => ended));
    await this.load.stop().catch(() => {});
    if (this.#finished || process.env.CLUSTER_LOGS === undefined) return;
    for (const { name, output } of this.#processes) this.#test.diagnostic(`${name} said:\n${output}`);
  }
}
