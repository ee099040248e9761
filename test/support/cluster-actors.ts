// The actors of the cluster's tests, and their trace: every activation of a tally and every turn of it is
// recorded first, with the time of a clock that all processes of the machine share. The messages between a
// host process (fixtures/cluster-host.ts) and its test (support/cluster.ts) are here too.
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Actor, type ActorOptions, sharded } from "../../src/index.ts";
import type { Verdict } from "../../src/kernel/errors.ts";
import { Bell, Chimes } from "./bells.ts";
import { Tally, type TallyReport } from "./tally.ts";
import { writeTrace } from "./trace-file.ts";

/** `awake` and `asleep` frame an activation, `begin` and `end` a turn. Microseconds of CLOCK_MONOTONIC. */
export type TraceKind = "awake" | "begin" | "end" | "asleep";
export type TraceLine = readonly [at: number, kind: TraceKind, life: number, actor: string, operation: string];

export const traceClock = (): number => Number(process.hrtime.bigint() / 1_000n);

let lives = 0;

function trace(kind: TraceKind, life: number, actor: string, operation = ""): void {
  const line: TraceLine = [traceClock(), kind, life, actor, operation];
  writeTrace(line);
}

export class TracedTally extends Tally {
  static options = { name: "Tally" } satisfies ActorOptions;
  readonly #life = ++lives;

  override onActivate(): void {
    trace("awake", this.#life, this.id);
  }

  override onDeactivate(): void {
    trace("asleep", this.#life, this.id);
  }

  override add(operation: string): number {
    trace("begin", this.#life, this.id, operation);
    const number = super.add(operation);
    trace("end", this.#life, this.id, operation);
    return number;
  }

  override async addSlowly(operation: string): Promise<number> {
    trace("begin", this.#life, this.id, operation);
    await pause(20);
    const number = super.add(operation);
    trace("end", this.#life, this.id, operation);
    return number;
  }

  override report(): TallyReport {
    trace("begin", this.#life, this.id);
    return super.report();
  }
}

/** The same in shards. A cluster has one of the two. */
export class ShardedTally extends TracedTally {
  static override options = {
    name: "Tally",
    placement: sharded({ shards: 40, rebalance: "300ms", relativeLimit: 1 }),
  } satisfies ActorOptions;
}

/** Next actor of a chain of calls. */
export type Stop = readonly [type: string, id: string];

interface Walker {
  walk(way: readonly Stop[]): Promise<string[]>;
  linger(way: readonly Stop[]): Promise<string>;
  fail(way: readonly Stop[], how: string): Promise<never>;
  left(way: readonly Stop[]): Promise<number>;
}

/** Sends a call along a chain of actors, each of which waits for the next. */
abstract class OnTheWay extends Actor {
  static lingering = 0;
  static gaveUp = 0;

  #next(way: readonly Stop[]): Walker {
    const [[type, id]] = way as readonly [Stop];
    return this.actor(type, id) as unknown as Walker;
  }

  /** The actors with their processes, in the order of the chain. */
  async walk(way: readonly Stop[]): Promise<string[]> {
    const here = `${this.type}/${this.id}@${process.pid}`;
    return [here, ...(way.length > 0 ? await this.#next(way).walk(way.slice(1)) : [])];
  }

  /** The last actor waits until its call is cancelled. */
  async linger(way: readonly Stop[]): Promise<string> {
    if (way.length > 0) return await this.#next(way).linger(way.slice(1));
    OnTheWay.lingering++;
    const { signal } = this;
    if (!signal.aborted) await once(signal, "abort");
    OnTheWay.lingering--;
    OnTheWay.gaveUp++;
    return "too late";
  }

  /** The time that is left to the last actor. */
  async left(way: readonly Stop[]): Promise<number> {
    return way.length > 0 ? await this.#next(way).left(way.slice(1)) : this.deadline! - Date.now();
  }

  async fail(way: readonly Stop[], how: string): Promise<never> {
    if (way.length > 0) return await this.#next(way).fail(way.slice(1), how);
    if (how === "plain") throw new RangeError("it is out of range");
    const cause = new TypeError("what is behind it", { cause: { why: "data" } });
    throw Object.assign(new Error("it went wrong", { cause }), { name: "OrderFailed", code: "ORDER_17" });
  }
}

export class Strict extends OnTheWay {}

export class Lenient extends OnTheWay {
  static options = { reentrant: true } satisfies ActorOptions;
}

export class Other extends Actor {
  whoAmI(): number {
    return process.pid;
  }

  /** A call to a type this process may not have. */
  async addTo(tally: string, operation: string): Promise<number> {
    return await this.actor<Tally>("Tally", tally).add(operation);
  }
}

export const ACTOR_TYPES = { Tally: TracedTally, ShardedTally, Strict, Lenient, Other, Bell, Chimes } as const;
export type ActorTypeName = keyof typeof ACTOR_TYPES;

/** Counters of a process beside its answers. */
export const counts = (): { lingering: number; gaveUp: number } => ({
  lingering: OnTheWay.lingering,
  gaveUp: OnTheWay.gaveUp,
});

export interface Role {
  readonly trace: string;
  readonly dedicated: boolean;
  readonly types: readonly ActorTypeName[];
  /** A module with further `actors`, `workflows` and `activities` for this process. */
  readonly module?: string;
  /** Settings of `limpet()`. */
  readonly settings: object;
  /** Connections to these ports of this machine go to other ports. */
  readonly detours: Readonly<Record<number, number>>;
}

export interface Question {
  readonly number: number;
  readonly about: "call" | "where" | "view" | "status" | "metrics" | "version" | "counts" | "drain";
  readonly type?: string;
  readonly id?: string;
  readonly method?: string;
  readonly args?: readonly unknown[];
  readonly timeoutMs?: number;
}

export interface ToClusterHost {
  readonly questions: readonly Question[];
  /** Numbers of cancelled calls. */
  readonly cancelled: readonly number[];
}

export interface SerializedError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly retry?: Verdict;
  readonly cause?: SerializedError;
  /** For a cause that is no error. */
  readonly data?: unknown;
}

export interface Answer {
  readonly number: number;
  readonly value?: unknown;
  readonly error?: SerializedError;
}

export type FromClusterHost = { readonly ready: true } | { readonly answers: readonly Answer[] };
