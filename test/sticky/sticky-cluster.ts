// A cluster of real processes whose tallies are sticky, for one test. The processes, the tallies and their
// trace are those of the other tests of clusters (support/cluster-process.ts); a setting makes the type
// sticky. Afterwards the outcomes of callers are compared with the store, and every actor is checked for two
// activations at once.
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { ClusterSettings } from "../../src/config/settings.ts";
import { clusterSecret } from "../../src/host/open-store.ts";
import { limpet } from "../../src/index.ts";
import { LIMITS } from "../../src/kernel/limits.ts";
import type { StickyQuery } from "../../src/ports/host-admin.ts";
import { silentLog } from "../../src/ports/log.ts";
import { type ControlClient, controlClient } from "../../src/wire/control/client/client.ts";
import { stretched, stretchedCluster } from "../support/busy.ts";
import { BRISK } from "../support/cluster.ts";
import { type TraceLine, traceClock } from "../support/cluster-actors.ts";
import { ClusterProcess } from "../support/cluster-process.ts";
import { LifeTrace, type Pause } from "../support/life-trace.ts";
import { type Dice, dice } from "../support/seed.ts";
import { standStill } from "../support/stand-still.ts";
import { Tally } from "../support/tally.ts";
import type { Place } from "../support/two-stores.ts";
import { Callers, until } from "./callers.ts";

/** Requests in flight to one process. */
const AT_ONCE = 200;

export interface StickyOptions {
  readonly cluster?: ClusterSettings;
  readonly schedulers?: readonly string[];
  /** Its HTTP server, if it has one. */
  readonly httpPort?: number;
}

/** Process of an actor, by name. */
export type Homes = ReadonlyMap<string, string>;

export class StickyCluster implements AsyncDisposable {
  readonly #place: Place;
  readonly #folder: string;
  readonly #settings: ClusterSettings;
  readonly #processes: ClusterProcess[] = [];
  readonly #callers: Callers[] = [];
  readonly #pauses: Pause[] = [];
  readonly #test: TestContext;
  readonly #chance: Dice;
  #finished = false;
  #secret: Promise<string> | undefined;

  constructor(test: TestContext, place: Place, settings: ClusterSettings = {}) {
    this.#test = test;
    this.#place = place;
    this.#folder = join(place.folder, "cluster");
    this.#settings = stretchedCluster({ ...BRISK, ...settings });
    this.#chance = dice(test);
  }

  /** All at once. */
  async startAll(names: readonly string[], options: StickyOptions = {}): Promise<ClusterProcess[]> {
    return await Promise.all(names.map((name) => this.start(name, options)));
  }

  async start(name: string, { cluster, schedulers = [], httpPort }: StickyOptions = {}): Promise<ClusterProcess> {
    await mkdir(this.#folder, { recursive: true });
    const one = new ClusterProcess(name, this.#folder, {
      trace: join(this.#folder, `${name}.trace`),
      dedicated: false,
      types: ["Tally"],
      detours: {},
      settings: {
        store: this.#place.store,
        storeTimeout: stretched("5s"),
        callTimeout: stretched("20s"),
        sticky: ["Tally"],
        schedulers,
        logLevel: "info",
        cluster: { ...this.#settings, ...stretchedCluster(cluster ?? {}), name },
        ...(httpPort === undefined ? {} : { http: { port: httpPort } }),
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
    await until(async () => {
      const leads = await Promise.all(this.alive.map(async (one) => ((await one.leads()) ? [one] : [])));
      [found] = leads.flat();
      return leads.flat().length === 1;
    }, "somebody leads");
    return found!;
  }

  /** All hosts know this many hosts, and nothing is moving. */
  async settled(hosts: number, asked = this.alive[0]!): Promise<void> {
    await until(async () => {
      const view = await asked.view().catch(() => undefined);
      const table = view?.tables.find(({ type }) => type === "Tally");
      return table?.phase === "settled" && table.hosts.length === hosts;
    }, `${hosts} hosts, and nothing moves`);
  }

  // ——— Actors.

  /** Activates each of them on any host, and returns its place. */
  async fill(ids: readonly string[], through: readonly ClusterProcess[]): Promise<Homes> {
    await inBatches(ids, (id, i) => through[i % through.length]!.report(id));
    return await this.homes(ids, through[0]);
  }

  /**
   * The holder of each. A new leader may need reports first, so the request is repeated until every actor has
   * a holder.
   */
  async homes(ids: readonly string[], asked = this.alive[0]!): Promise<Homes> {
    let homes = new Map<string, string>();
    await until(async () => {
      const held = await this.#held(asked).catch(() => homes);
      homes = new Map(ids.flatMap((id) => (held.has(id) ? [[id, held.get(id)!]] : [])));
      return homes.size === ids.length;
    }, `somebody holds each of ${ids.length} actors; it is ${homes.size}`);
    return homes;
  }

  /** All records of the leader, page by page. */
  #held(asked: ClusterProcess): Promise<Homes> {
    return this.#askLeader(asked, async (leader) => {
      const homes = new Map<string, string>();
      let after: StickyQuery["after"];
      do {
        const page = await leader.admin({
          kind: "sticky",
          namespace: "default",
          query: { type: "Tally", after, limit: LIMITS.listPage },
        });
        for (const { id, name, away } of page.actors) if (!away) homes.set(id, name);
        after = page.next;
      } while (after !== undefined);
      return homes;
    });
  }

  /** Releases each of them, as an operator does. */
  async release(ids: readonly string[]): Promise<void> {
    await this.#askLeader(this.alive[0]!, async (leader) => {
      for (const id of ids) await leader.admin({ kind: "release", namespace: "default", type: "Tally", id });
    });
  }

  async #askLeader<T>(asked: ClusterProcess, ask: (leader: ControlClient) => Promise<T>): Promise<T> {
    const { schedulers } = await asked.view();
    const { address } = schedulers.find(({ leader }) => leader)!;
    this.#secret ??= clusterSecret(this.#place.store);
    const security = { keys: [], secret: await this.#secret };
    const client = controlClient({ address, security, log: silentLog });
    try {
      return await ask(client);
    } finally {
      await client.close();
    }
  }

  /**
   * Callers of these actors, audited with all others at the end. An actor belongs to one group of callers.
   */
  callers(ids: readonly string[]): Callers {
    const callers = new Callers(ids, this.#chance);
    this.#callers.push(callers);
    return callers;
  }

  /** The process cannot run while `meanwhile` lasts. */
  async paused(host: ClusterProcess, meanwhile: () => Promise<void>): Promise<void> {
    const from = await standStill(host, this.#place.store);
    try {
      await meanwhile();
    } finally {
      this.#pauses.push({ process: host.name, from, until: traceClock() });
      host.signal("SIGCONT");
    }
  }

  // ——— Audit.

  async #traces(): Promise<Map<string, string>> {
    const files = new Map<string, string>();
    for (const { name, role } of this.#processes) files.set(name, await readFile(role.trace, "utf8"));
    return files;
  }

  /** Processes of each actor so far, once for every activation, in the order of time. */
  async lives(): Promise<Map<string, string[]>> {
    const begun: { at: number; actor: string; process: string }[] = [];
    for (const [process, text] of await this.#traces()) {
      for (const line of text.split("\n").filter((each) => each.endsWith("]"))) {
        const [at, kind, , actor] = JSON.parse(line) as TraceLine;
        if (kind === "awake") begun.push({ at, actor, process });
      }
    }
    begun.sort((one, other) => one.at - other.at);
    const byActor = Map.groupBy(begun, ({ actor }) => actor);
    return new Map([...byActor].map(([actor, lives]) => [actor, lives.map(({ process }) => process)]));
  }

  /** Ends callers and processes, then audits the store. */
  async audit(): Promise<void> {
    for (const callers of this.#callers) {
      await callers.stop();
      this.#test.diagnostic(callers.summary);
    }
    await Promise.all(this.alive.map((one) => one.leave()));
    const trace = new LifeTrace(await this.#traces());
    trace.checkAlone(this.#pauses);
    const { store } = this.#place;
    await using reader = await limpet({ actors: [Tally], store, cluster: false, logLevel: "error" });
    for (const { ledger } of this.#callers) {
      await ledger.audit({
        version: async (id) => (await reader.host.explain("Tally", id)).stored?.version ?? 0,
        report: async (id) => {
          const report = await reader.actor(Tally, id).report();
          trace.checkCommits(id, report.seen);
          return report;
        },
      });
    }
    this.#test.diagnostic(`${trace.lives} lives`);
    this.#finished = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A stopped process reacts to no other signal.
    for (const one of this.alive) one.signal("SIGKILL");
    await Promise.all(this.#processes.map(({ ended }) => ended));
    await Promise.all(this.#callers.map((callers) => callers.stop().catch(() => {})));
    if (this.#finished || process.env.CLUSTER_LOGS === undefined) return;
    for (const { name, output } of this.#processes) this.#test.diagnostic(`${name} said:\n${output}`);
  }
}

/** Many requests, some of them at a time. */
async function inBatches<In, Out>(all: readonly In[], ask: (one: In, index: number) => Promise<Out>): Promise<Out[]> {
  const answers: Out[] = [];
  for (let i = 0; i < all.length; i += AT_ONCE) {
    const batch = all.slice(i, i + AT_ONCE).map((one, j) => ask(one, i + j));
    answers.push(...(await Promise.all(batch)));
  }
  return answers;
}

export const someIds = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix} ${i}`);

/** Actors of `homes` at these processes. */
export const livingAt = (homes: Homes, ...names: readonly string[]): string[] =>
  [...homes.keys()].filter((id) => names.includes(homes.get(id)!));
