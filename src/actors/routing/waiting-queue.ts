// Calls that cannot be routed yet: their actor is moving, its host is unknown, or unreachable. They wait by
// type, and by shard for sharded types, until the next change of the tables or until a timer expires. Calls
// to one actor form a line: they leave together in order of arrival, and a call that must wait again goes in
// front of later ones. Deadlines apply as usual, and the number of waiting calls is limited. The process
// stays alive while calls wait here.
import { formatDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Turn, TurnHolder } from "../activation/turn.ts";
import type { CallRoute } from "./call-route.ts";

/** Retry interval without a change, in case a change was missed. */
export const LOOK_AGAIN_MS = 1_000;

interface ByShard {
  readonly type: string;
  readonly shard: number;
  /** By actor; each line is in order of arrival and never empty. */
  readonly lines: Map<string, Turn[]>;
  timer: Timer | undefined;
  timerAt: number;
}

interface Entry {
  readonly byShard: ByShard;
  /** Time of the next retry. */
  readonly at: number;
}

/** The waiting calls of one type. */
interface ByType {
  readonly shards: Map<number, ByShard>;
  waiting: number;
}

export interface WaitingQueueDeps {
  /** Routes a turn again; it may return at once. */
  leave(turn: Turn): void;
  /** Why this host cannot route at the moment; undefined: it can. */
  problem(): string | undefined;
  /** The shard that the turn waits for. Undefined, the default: not known, or the type is not sharded. */
  shardOf?(turn: Turn): number | undefined;
  /** Calls of the type that may wait here. */
  capacity?(type: string): number;
  /** Retry interval of calls of the type. */
  lookAgainMs?(type: string): number;
  /** Error for a call that exceeds the capacity. */
  full?(type: string): LimpetError;
}

/** Key of calls without a known shard. */
const NO_SHARD = -1;

export class WaitingQueue implements TurnHolder {
  readonly #clock: Clock;
  readonly #deps: WaitingQueueDeps;
  readonly #entries = new Map<Turn, Entry>();
  readonly #types = new Map<string, ByType>();
  #lastArrival = 0;
  #closed = false;

  constructor(clock: Clock, deps: WaitingQueueDeps) {
    this.#clock = clock;
    this.#deps = deps;
  }

  get size(): number {
    return this.#entries.size;
  }

  waiting(type: string): number {
    return this.#types.get(type)?.waiting ?? 0;
  }

  /** True: calls wait for this actor. */
  has(type: string, id: string, shard = NO_SHARD): boolean {
    return this.#types.get(type)?.shards.get(shard)?.lines.has(id) === true;
  }

  /** Assigns the arrival number, which orders the turn before later ones. */
  number(turn: Turn): CallRoute {
    const route = turn.routed();
    if (route.arrival === 0) route.arrival = ++this.#lastArrival;
    return route;
  }

  /** True: an earlier call waits for the same actor. */
  isBehind(turn: Turn): boolean {
    const byType = this.#types.get(turn.type.name);
    if (byType === undefined) return false;
    const first = byType.shards.get(this.#shardOf(turn))?.lines.get(turn.id)?.[0];
    return first !== undefined && arrivalOf(first) < arrivalOf(turn);
  }

  /** `forMs`: the call may not need a change, so it retries after this time. */
  add(turn: Turn, forMs?: number): void {
    if (this.#closed) {
      this.#rejectStopping(turn);
      return;
    }
    const type = turn.type.name;
    // A call that was admitted before keeps its right to wait.
    if (!turn.route?.waited && this.waiting(type) >= (this.#deps.capacity?.(type) ?? LIMITS.waitingCalls)) {
      turn.fail(this.#deps.full?.(type) ?? full(type));
      return;
    }
    this.number(turn).waited = true;
    turn.holder = this;
    const ms = forMs ?? this.#deps.lookAgainMs?.(type) ?? LOOK_AGAIN_MS;
    const at = this.#clock.monotonic() + ms;
    const byShard = this.#insert(turn);
    this.#entries.set(turn, { byShard, at });
    if (at < byShard.timerAt) this.#arm(byShard, at, ms);
  }

  #shardOf(turn: Turn): number {
    return this.#deps.shardOf?.(turn) ?? NO_SHARD;
  }

  #insert(turn: Turn): ByShard {
    const type = turn.type.name;
    let byType = this.#types.get(type);
    if (byType === undefined) {
      byType = { shards: new Map(), waiting: 0 };
      this.#types.set(type, byType);
    }
    byType.waiting++;
    const shard = this.#shardOf(turn);
    let byShard = byType.shards.get(shard);
    if (byShard === undefined) {
      byShard = { type, shard, lines: new Map(), timer: undefined, timerAt: Number.POSITIVE_INFINITY };
      byType.shards.set(shard, byShard);
    }
    const line = byShard.lines.get(turn.id);
    if (line === undefined) byShard.lines.set(turn.id, [turn]);
    else line.splice(placeIn(line, turn), 0, turn);
    return byShard;
  }

  /** False: the turn no longer waits here. */
  #take(turn: Turn): boolean {
    const byShard = this.#entries.get(turn)?.byShard;
    if (byShard === undefined) return false;
    this.#entries.delete(turn);
    const line = byShard.lines.get(turn.id)!;
    line.splice(line.indexOf(turn), 1);
    if (line.length === 0) byShard.lines.delete(turn.id);
    const byType = this.#types.get(byShard.type)!;
    if (byShard.lines.size === 0) {
      byShard.timer?.cancel();
      byType.shards.delete(byShard.shard);
    }
    if (--byType.waiting === 0) this.#types.delete(byShard.type);
    return true;
  }

  #arm(byShard: ByShard, at: number, ms: number): void {
    byShard.timer?.cancel();
    byShard.timerAt = at;
    byShard.timer = this.#clock.after(ms, () => this.#retryDue(byShard));
  }

  /**
   * Releases only due turns and the lines they stand in: a later arrival must not make earlier turns retry
   * sooner.
   */
  #retryDue(byShard: ByShard): void {
    // A timer may be a hair early.
    const now = Math.max(this.#clock.monotonic(), byShard.timerAt);
    const due: string[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const [id, line] of byShard.lines) {
      const at = line.reduce((first, turn) => Math.min(first, this.#entries.get(turn)!.at), Number.POSITIVE_INFINITY);
      if (at <= now) due.push(id);
      else if (at < next) next = at;
    }
    byShard.timerAt = Number.POSITIVE_INFINITY;
    if (next < Number.POSITIVE_INFINITY) this.#arm(byShard, next, next - now);
    for (const id of due) this.#releaseLine(byShard, id);
  }

  withdraw(turn: Turn): void {
    this.#take(turn);
  }

  /** The call was never sent, so it certainly had no effect. */
  late(turn: Turn): LimpetError {
    const waited = formatDuration(turn.timeoutMs);
    const why = this.#deps.problem() ?? turn.route?.obstacle ?? "its actor is moving";
    const message = `${turn.label} waited ${waited} for a host that may run it; nothing happened. The reason: ${why}`;
    return new LimpetError("NOT_READY", message);
  }

  /** Routes the waiting calls of this type, or of this shard, again, in order. */
  release(type: string, shard?: number): void {
    const shards = this.#types.get(type)?.shards;
    if (shards === undefined) return;
    const some = shard === undefined ? [...shards.values()] : [shards.get(shard), shards.get(NO_SHARD)];
    for (const byShard of some) {
      if (byShard !== undefined) for (const id of [...byShard.lines.keys()]) this.#releaseLine(byShard, id);
    }
  }

  /** Routes the waiting calls of this actor again, in order; or rejects them with `error`. */
  releaseOne(type: string, id: string, error?: LimpetError): void {
    for (const byShard of [...(this.#types.get(type)?.shards.values() ?? [])]) {
      if (error === undefined) this.#releaseLine(byShard, id);
      else for (const turn of [...(byShard.lines.get(id) ?? [])]) if (this.#take(turn)) turn.fail(error);
    }
  }

  /**
   * Releases the turns of this line one by one, so that calls caused by one of them do not overtake the rest.
   * Each turn gets one try, even behind one that returns at once: a call of another host may be rejected to
   * it while a call of this host must wait.
   */
  #releaseLine({ lines }: ByShard, id: string): void {
    let last = 0;
    for (let turn = nextIn(lines.get(id), last); turn !== undefined; turn = nextIn(lines.get(id), last)) {
      last = arrivalOf(turn);
      this.#take(turn);
      turn.holder = undefined;
      if (turn.phase === "queued") this.#deps.leave(turn);
    }
  }

  /** The process stops: no call may wait here any more. */
  close(): void {
    this.#closed = true;
    for (const turn of [...this.#entries.keys()]) if (this.#take(turn)) this.#rejectStopping(turn);
  }

  #rejectStopping(turn: Turn): void {
    turn.holder = undefined;
    if (turn.rejectNotOwner !== undefined) turn.rejectNotOwner();
    else turn.fail(new LimpetError("STOPPING", `this process stops; nothing of ${turn.label} has happened`));
  }

  releaseAll(): void {
    for (const type of [...this.#types.keys()]) this.release(type);
  }
}

const arrivalOf = ({ route }: Turn): number => route?.arrival ?? 0;

/** Behind all earlier arrivals: nearly always at the end. */
function placeIn(line: readonly Turn[], turn: Turn): number {
  const arrival = arrivalOf(turn);
  let at = line.length;
  while (at > 0 && arrivalOf(line[at - 1]!) > arrival) at--;
  return at;
}

/** The first turn that arrived after `last`; earlier ones have just returned. */
function nextIn(line: readonly Turn[] | undefined, last: number): Turn | undefined {
  if (line === undefined || arrivalOf(line[0]!) > last) return line?.[0];
  let [low, high] = [0, line.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (arrivalOf(line[middle]!) > last) high = middle;
    else low = middle + 1;
  }
  return line[low];
}

const full = (type: string): LimpetError =>
  new LimpetError("NOT_READY", `${LIMITS.waitingCalls} calls already wait for a host of ${type}`);
