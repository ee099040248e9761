// A cluster in one process, on virtual time: hosts with clocks of their own, a network and a database between them, and every
// trouble they can have. Everything that chance decides follows from the seed, so what happened once happens again.
//
// Time stands still until somebody wants something: an answer of an actor, or that time passes.
import type { ActorClass } from "../actors/remote.ts";
import type { LimpetSettings } from "../config/settings.ts";
import { type Duration, parseDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import { Prng } from "../kernel/prng.ts";
import type { ProcessIdentity } from "../ports/coordination.ts";
import { Database, NO_TROUBLES } from "./database.ts";
import type { ClockTroubles } from "./local-clock.ts";
import { Network } from "./network.ts";
import { Process } from "./process.ts";
import { Story } from "./story.ts";
import { Timeline } from "./timeline.ts";
import { type HostOptions, WorldHost } from "./world-host.ts";

export interface WorldOptions {
  readonly seed?: number | undefined;
  /** The classes that hosts run, unless they were given others. */
  readonly actors?: readonly ActorClass[] | undefined;
  /** Settings of every host. */
  readonly settings?: LimpetSettings | undefined;
  /** Time passes only when whoever made it runs its timeline. */
  readonly isDriven?: boolean | undefined;
}

interface Goal {
  readonly until: number;
  readonly reached: () => void;
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
  readonly #isDriven: boolean;
  #lastProcess = 0;
  /** Answers somebody outside waits for. */
  #awaited = 0;
  readonly #goals: Goal[] = [];
  #goalsChanged = false;
  #running: Promise<void> | undefined;

  constructor({ seed = 1, actors = [], settings = {}, isDriven = false }: WorldOptions = {}) {
    this.#isDriven = isDriven;
    this.seed = seed;
    this.actors = actors;
    this.settings = settings;
    this.chance = new Prng(seed);
    this.network = new Network(this.timeline, this.chance.child("network"));
    this.database = new Database(this.timeline, this.chance.child("database"));
    this.story = new Story(this.timeline);
  }

  /** Milliseconds since it began. */
  get now(): number {
    return this.timeline.now;
  }

  // ——— Hosts.

  /** A new place; nothing runs there yet. */
  addHost(options: HostOptions = {}): WorldHost {
    const host = new WorldHost(this, this.hosts.length + 1, options);
    this.hosts.push(host);
    return host;
  }

  newProcess(place: number, machine: string, clock: ClockTroubles, chance: Prng): Process {
    const number = ++this.#lastProcess;
    const { timeline, network, database } = this;
    network.placeBack(place);
    const needs = { timeline, network, database, chance, clock, hasEnded: this.#hasEnded(machine) };
    const process = new Process(number, place, machine, needs);
    this.#processes.set(number, process);
    return process;
  }

  #hasEnded(machine: string): (process: ProcessIdentity) => boolean {
    return (process) => process.machine === machine && this.#processes.get(process.pid)?.hasEnded === true;
  }

  host(which: WorldHost | string | number): WorldHost {
    if (which instanceof WorldHost) return which;
    const found = typeof which === "number" ? this.hosts[which] : this.hosts.find(({ name }) => name === which);
    if (found === undefined) throw new LimpetError("HOST_UNKNOWN", `no host is called ${which}`);
    return found;
  }

  // ——— Time.

  /** Lets time pass. */
  advance(duration: Duration): Promise<void> {
    const until = this.now + parseDuration(duration, "advance");
    return new Promise((reached) => {
      this.#goals.push({ until, reached });
      this.#goals.sort((a, b) => a.until - b.until);
      this.#goalsChanged = true;
      this.#run();
    });
  }

  /** Something that is awaited from outside of the world: time passes until it is there. Rejects when the process ends before. */
  outside<T>(begin: () => Promise<T>, process: Process): Promise<T> {
    this.#awaited++;
    const ended = Promise.withResolvers<never>();
    const tell = (): void => ended.reject(new LimpetError("ANSWER_LOST", "the process has ended"));
    process.onEnd.add(tell);
    const answer = Promise.race([begin(), ended.promise]).finally(() => {
      process.onEnd.delete(tell);
      this.#awaited--;
    });
    this.#run();
    return answer;
  }

  #run(): void {
    if (this.#isDriven) return;
    this.#running ??= this.#runToGoals().finally(() => {
      this.#running = undefined;
      if (this.#awaited > 0 || this.#goals.length > 0) this.#run();
    });
  }

  async #runToGoals(): Promise<void> {
    while (this.#awaited > 0 || this.#goals.length > 0) {
      this.#goalsChanged = false;
      const until = this.#goals[0]?.until ?? Number.POSITIVE_INFINITY;
      await this.timeline.run(until, () => this.#goalsChanged || (this.#awaited === 0 && this.#goals.length === 0));
      while (this.#goals[0] !== undefined && this.#goals[0].until <= this.now) this.#goals.shift()!.reached();
    }
  }

  // ——— Troubles.

  /** Neither hears the other any more. Nobody tells them. */
  partition(a: WorldHost | string | number, b: WorldHost | string | number): void {
    this.cut(a, b);
    this.cut(b, a);
  }

  /** What `from` says does not reach `to`; the other way is open. */
  cut(from: WorldHost | string | number, to: WorldHost | string | number): void {
    this.network.change(this.host(from).place, this.host(to).place, { isOpen: false });
  }

  /** Nobody hears it and it hears nobody. It still reaches the database. */
  isolate(which: WorldHost | string | number): void {
    for (const other of this.hosts) if (other !== this.host(which)) this.partition(which, other);
  }

  /** Every line works again, every process is awake, the database does its part. Who has crashed stays down. */
  heal(): void {
    this.network.heal();
    this.database.troubles = { ...NO_TROUBLES };
    for (const { process } of this.hosts) process?.wake();
  }

  /** Its process ends at once, with everything in its memory. */
  crash(which: WorldHost | string | number): void {
    this.story.tell(this.host(which).name, "warn", "crashes");
    this.host(which).process?.end(false);
  }

  /** The same, and nobody is told: its machine has lost its power. */
  losePower(which: WorldHost | string | number): void {
    this.story.tell(this.host(which).name, "warn", "loses its power");
    this.host(which).process?.end(true);
  }

  /** Starts a new process where another one has ended. */
  restart(which: WorldHost | string | number, changes: Partial<HostOptions> = {}): Promise<void> {
    return this.host(which).start(changes);
  }

  /** Nothing happens in it for a while; then it goes on as if nothing had happened. */
  pause(which: WorldHost | string | number, duration: Duration): void {
    this.story.tell(this.host(which).name, "warn", "pauses", { duration });
    this.host(which).process?.sleep(parseDuration(duration, "pause"), "pause");
  }

  /** Its machine sleeps: as a pause, but the monotonic clock does not notice. */
  suspend(which: WorldHost | string | number, duration: Duration): void {
    this.story.tell(this.host(which).name, "warn", "is suspended", { duration });
    this.host(which).process?.sleep(parseDuration(duration, "suspend"), "suspend");
  }
}
