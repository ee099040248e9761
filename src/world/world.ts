// A cluster in one process, on virtual time: hosts with their own clocks, a network and a database between
// them, and every fault they can have. All random decisions follow from the seed, so every run can be
// repeated.
// Time stands still until the test waits for an answer of an actor or for a moment.
import type { ActorClass } from "../actors/routing/remote.ts";
import type { LimpetSettings } from "../config/settings.ts";
import { LimpetError } from "../kernel/errors.ts";
import { Prng } from "../kernel/prng.ts";
import type { ProcessIdentity } from "../ports/store/coordination.ts";
import { Database, NO_TROUBLES } from "./database/database.ts";
import type { ClockTroubles } from "./local-clock.ts";
import { Network } from "./network/network.ts";
import { Passage } from "./network/passage.ts";
import { Process } from "./process.ts";
import { Story } from "./story.ts";
import { KIND, Timeline } from "./timeline.ts";
import { type HostOptions, WorldHost } from "./world-host.ts";

export interface WorldOptions {
  readonly seed?: number;
  /** Default actor classes of the hosts. */
  readonly actors?: readonly ActorClass[];
  /** Settings of every host. */
  readonly settings?: LimpetSettings;
  /** Time passes only when the creator of the world runs its timeline. */
  readonly isDriven?: boolean;
}

export class World {
  readonly seed: number;
  readonly chance: Prng;
  readonly timeline = new Timeline();
  readonly network: Network;
  readonly database: Database;
  readonly story: Story;
  readonly hosts: WorldHost[] = [];
  readonly actors: readonly ActorClass[];
  readonly settings: LimpetSettings;
  readonly #processes = new Map<number, Process>();
  readonly #passage: Passage;
  #lastProcess = 0;

  constructor({ seed = 1, actors = [], settings = {}, isDriven = false }: WorldOptions = {}) {
    this.#passage = new Passage(this.timeline, isDriven);
    this.seed = seed;
    this.actors = actors;
    this.settings = settings;
    this.chance = new Prng(seed);
    this.network = new Network(this.timeline, this.chance.child("network"));
    this.database = new Database(this.timeline, this.chance.child("database"));
    this.story = new Story(this.timeline);
  }

  /** Milliseconds since the start of the world. */
  get now(): number {
    return this.timeline.now;
  }

  // ——— Hosts.

  /** Adds a new place; nothing runs there yet. */
  addHost(options: HostOptions = {}): WorldHost {
    const host = new WorldHost(this, this.hosts.length + 1, options);
    this.hosts.push(host);
    return host;
  }

  newProcess(place: number, machine: string, clock: ClockTroubles, chance: Prng): Process {
    const number = ++this.#lastProcess;
    const { timeline, network, database } = this;
    network.placeBack(place);
    const deps = { timeline, network, database, chance, clock, hasEnded: this.#hasEnded(machine) };
    const process = new Process(number, place, machine, deps);
    this.#processes.set(number, process);
    return process;
  }

  #hasEnded(machine: string): (process: ProcessIdentity) => boolean {
    return (process) => process.machine === machine && this.#processes.get(process.pid)?.hasEnded === true;
  }

  // ——— Time.

  /** Lets time pass. */
  advance(ms: number): Promise<void> {
    return this.#passage.advance(ms);
  }

  /**
   * Work that is awaited from outside the world: time passes until it has ended. Rejects when the process
   * ends before.
   */
  outside<T>(begin: () => Promise<T>, process: Process): Promise<T> {
    const ended = Promise.withResolvers<never>();
    const rejectEnded = (): void =>
      ended.reject(new LimpetError("ANSWER_LOST", "the process has ended; the outcome is unknown"));
    process.onEnd.add(rejectEnded);
    return this.#passage
      .during(() => Promise.race([begin(), ended.promise]))
      .finally(() => process.onEnd.delete(rejectEnded));
  }

  /** The same for work of the process itself: it does not begin while the process sleeps. */
  inside<T>(begin: () => Promise<T>, process: Process): Promise<T> {
    const begun = (): Promise<T> =>
      new Promise((resolve, reject) => {
        const run = async (): Promise<T> => begin();
        this.timeline.plan(this.now, KIND.script, process, () => void run().then(resolve, reject));
      });
    return this.outside(begun, process);
  }

  /** Rejects pending waits. */
  end(error: LimpetError): void {
    for (const { process } of this.hosts) process?.end(false);
    this.#passage.fail(error);
  }

  /** Ends all faults of lines and the database, and resumes all processes. Crashed hosts stay down. */
  heal(): void {
    this.network.heal();
    this.database.troubles = { ...NO_TROUBLES };
    for (const { process } of this.hosts) process?.wake();
  }
}
