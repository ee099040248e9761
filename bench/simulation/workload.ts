// A simulated cluster under a steady load: every host makes one durable call a second, and once a minute one
// host crashes and restarts. Everything follows from the seed, so every round does the same work.
import { Actor } from "../../src/index.ts";
import { Prng } from "../../src/kernel/prng.ts";
import { KIND } from "../../src/world/timeline.ts";
import { World } from "../../src/world/world.ts";
import type { WorldHost } from "../../src/world/world-host.ts";

export interface WorkloadOptions {
  readonly hosts: number;
  /**
   * Number of dedicated schedulers, which hosts use instead of campaigning themselves; 0: every host has an
   * embedded one.
   */
  readonly schedulers?: number;
  /** Undefined: the default of hosts. */
  readonly replicationFactor?: number;
}

class Counter extends Actor<{ n: number }> {
  override initial() {
    return { n: 0 };
  }

  increment(): number {
    return ++this.state.n;
  }
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** Time of the crash, and time until the host starts again. */
const CRASH_AT = 20 * SECOND;
const DOWN_MS = 5 * SECOND;
/** Nearly at once, so that the leader announces many of them together. */
const START_WITHIN = SECOND / 10;
const ACTORS_PER_HOST = 4;

export class Workload {
  readonly #world: World;
  readonly #schedulers: WorldHost[] = [];
  readonly #hosts: WorldHost[] = [];
  readonly #chance = new Prng("workload");
  #answered = 0;
  #failed = 0;
  #minutes = 0;

  constructor({ hosts, schedulers = 0, replicationFactor }: WorkloadOptions) {
    const cluster = replicationFactor === undefined ? {} : { cluster: { replicationFactor } };
    this.#world = new World({ actors: [Counter], settings: { ...cluster }, isDriven: true });
    for (let i = 0; i < schedulers; i++) this.#schedulers.push(this.#world.addHost({ dedicated: true }));
    const addresses = this.#schedulers.map(({ schedulerAddress }) => schedulerAddress);
    const settings = schedulers === 0 ? undefined : { schedulers: addresses };
    for (let i = 0; i < hosts; i++) this.#hosts.push(this.#world.addHost({ settings }));
  }

  /** Number of events so far. */
  get steps(): number {
    return this.#world.timeline.steps;
  }

  /** Resolves when every host has joined the cluster and its calls have begun. */
  async start(): Promise<void> {
    const { timeline } = this.#world;
    const hosts = this.#hosts;
    for (const scheduler of this.#schedulers) this.#startHost(scheduler);
    for (const host of hosts) {
      timeline.plan(this.#chance.number() * START_WITHIN, KIND.script, undefined, () => this.#startHost(host));
    }
    await timeline.run(10 * MINUTE, () => hosts.every(({ isUp }) => isUp));
    if (!hosts.every(({ isUp }) => isUp)) throw new Error("the hosts did not find each other");
    for (const host of hosts) this.#callSoon(host, timeline.now + this.#chance.number() * SECOND);
    await timeline.run(timeline.now + 2 * SECOND);
  }

  #startHost(host: WorldHost): void {
    host.start().catch((error: unknown) => {
      throw error;
    });
  }

  #callSoon(host: WorldHost, at: number): void {
    this.#world.timeline.plan(at, KIND.script, undefined, () => {
      this.#callSoon(host, at + SECOND);
      if (host.isUp) void this.#call(host);
    });
  }

  async #call(host: WorldHost): Promise<void> {
    const id = `counter-${this.#chance.below(this.#hosts.length * ACTORS_PER_HOST)}`;
    try {
      await host.app.actor(Counter, id).increment();
      this.#answered++;
    } catch {
      this.#failed++;
    }
  }

  /** Simulates a minute, with one crash in it. Rejects when hardly any call was answered in it. */
  async minute(): Promise<void> {
    const { timeline } = this.#world;
    const hosts = this.#hosts;
    const [answered, failed] = [this.#answered, this.#failed];
    const began = timeline.now;
    const victim = hosts[this.#minutes++ % hosts.length]!;
    timeline.plan(began + CRASH_AT, KIND.script, undefined, () => victim.process?.end(false));
    timeline.plan(began + CRASH_AT + DOWN_MS, KIND.script, undefined, () => this.#startHost(victim));
    await timeline.run(began + MINUTE);
    const calls = (hosts.length * MINUTE) / SECOND;
    const done = this.#answered - answered;
    if (done < calls * LEAST_ANSWERED) {
      throw new Error(`of ${calls} calls ${done} were answered and ${this.#failed - failed} failed`);
    }
  }
}

/** Calls to the actors of a crashed host wait for its lease or fail; with five hosts those are many. */
const LEAST_ANSWERED = 0.75;
