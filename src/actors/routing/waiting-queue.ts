// Calls that cannot be routed yet: their actor is moving, its host is unknown, or unreachable. They wait by
// type, and by shard for sharded types, until the next change of the tables or until a timer expires. Calls
// to one actor form a line: they leave together in order of arrival, and a call that must wait again goes in
// front of later ones. Deadlines apply as usual, and the number of waiting calls is limited. The process
// stays alive while calls wait here.
import { formatDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Place, Turn } from "../activation/turn.ts";

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
  readonly bench: ByShard;
  /** Time of the next retry. */
  readonly at: number;
}

/** The waiting calls of one type. */
interface ByType {
  readonly benches: Map<number, ByShard>;
  waiting: number;
}

export interface WayOut {
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

export class WaitingQueue implements Place {
  readonly #clock: Clock;
  readonly #way: WayOut;
  readonly #spots = new Map<Turn, Entry>();
  readonly #halls = new Map<string, ByType>();
  #lastArrival = 0;
  #closed = false;

  constructor(clock: Clock, way: WayOut) {
    this.#clock = clock;
    this.#way = way;
  }

  get size(): number {
    return this.#spots.size;
  }

  waiting(type: string): number {
    return this.#halls.get(type)?.waiting ?? 0;
  }

  /** True: calls wait for this actor. */
  has(type: string, id: string, shard = NO_SHARD): boolean {
    return this.#halls.get(type)?.benches.get(shard)?.lines.has(id) === true;
  }

  /** Assigns the arrival number, which orders the turn before later ones. */
  number(turn: Turn): void {
    if (turn.arrival === 0) turn.arrival = ++this.#lastArrival;
  }

  /** True: an earlier call waits for the same actor. */
  isBehind(turn: Turn): boolean {
    const hall = this.#halls.get(turn.type.name);
    if (hall === undefined) return false;
    const first = hall.benches.get(this.#shardOf(turn))?.lines.get(turn.id)?.[0];
    return first !== undefined && first.arrival < turn.arrival;
  }

  /** `forMs`: the call may not need a change, so it retries after this time. */
  add(turn: Turn, forMs?: number): void {
    if (this.#closed) {
      this.#sendAway(turn);
      return;
    }
    const type = turn.type.name;
    // A call that was admitted before keeps its right to wait.
    if (!turn.waited && this.waiting(type) >= (this.#way.capacity?.(type) ?? LIMITS.waitingRoom)) {
      turn.fail(this.#way.full?.(type) ?? full(type));
      return;
    }
    this.number(turn);
    turn.place = this;
    turn.waited = true;
    const ms = forMs ?? this.#way.lookAgainMs?.(type) ?? LOOK_AGAIN_MS;
    const at = this.#clock.monotonic() + ms;
    const bench = this.#seat(turn);
    this.#spots.set(turn, { bench, at });
    if (at < bench.timerAt) this.#arm(bench, at, ms);
  }

  #shardOf(turn: Turn): number {
    return this.#way.shardOf?.(turn) ?? NO_SHARD;
  }

  #seat(turn: Turn): ByShard {
    const type = turn.type.name;
    let hall = this.#halls.get(type);
    if (hall === undefined) {
      hall = { benches: new Map(), waiting: 0 };
      this.#halls.set(type, hall);
    }
    hall.waiting++;
    const shard = this.#shardOf(turn);
    let bench = hall.benches.get(shard);
    if (bench === undefined) {
      bench = { type, shard, lines: new Map(), timer: undefined, timerAt: Number.POSITIVE_INFINITY };
      hall.benches.set(shard, bench);
    }
    const line = bench.lines.get(turn.id);
    if (line === undefined) bench.lines.set(turn.id, [turn]);
    else line.splice(placeIn(line, turn), 0, turn);
    return bench;
  }

  /** False: the turn no longer waits here. */
  #take(turn: Turn): boolean {
    const bench = this.#spots.get(turn)?.bench;
    if (bench === undefined) return false;
    this.#spots.delete(turn);
    const line = bench.lines.get(turn.id)!;
    line.splice(line.indexOf(turn), 1);
    if (line.length === 0) bench.lines.delete(turn.id);
    const hall = this.#halls.get(bench.type)!;
    if (bench.lines.size === 0) {
      bench.timer?.cancel();
      hall.benches.delete(bench.shard);
    }
    if (--hall.waiting === 0) this.#halls.delete(bench.type);
    return true;
  }

  #arm(bench: ByShard, at: number, ms: number): void {
    bench.timer?.cancel();
    bench.timerAt = at;
    bench.timer = this.#clock.after(ms, () => this.#ring(bench));
  }

  /**
   * Releases only due turns and the lines they stand in: a later arrival must not make earlier turns retry
   * sooner.
   */
  #ring(bench: ByShard): void {
    // A timer may be a hair early.
    const now = Math.max(this.#clock.monotonic(), bench.timerAt);
    const due: string[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const [id, line] of bench.lines) {
      const at = line.reduce((first, turn) => Math.min(first, this.#spots.get(turn)!.at), Number.POSITIVE_INFINITY);
      if (at <= now) due.push(id);
      else if (at < next) next = at;
    }
    bench.timerAt = Number.POSITIVE_INFINITY;
    if (next < Number.POSITIVE_INFINITY) this.#arm(bench, next, next - now);
    for (const id of due) this.#sendOff(bench, id);
  }

  withdraw(turn: Turn): void {
    this.#take(turn);
  }

  /** The call was never sent, so it certainly had no effect. */
  late(turn: Turn): LimpetError {
    const waited = formatDuration(turn.timeoutMs);
    const why = this.#way.problem() ?? turn.obstacle ?? "its actor is moving";
    const message = `${turn.label} waited ${waited} for a host that may run it; nothing happened. The reason: ${why}`;
    return new LimpetError("NOT_READY", message);
  }

  /** Routes the waiting calls of this type, or of this shard, again, in order. */
  release(type: string, shard?: number): void {
    const benches = this.#halls.get(type)?.benches;
    if (benches === undefined) return;
    const some = shard === undefined ? [...benches.values()] : [benches.get(shard), benches.get(NO_SHARD)];
    for (const bench of some) {
      if (bench !== undefined) for (const id of [...bench.lines.keys()]) this.#sendOff(bench, id);
    }
  }

  /** Routes the waiting calls of this actor again, in order; or rejects them with `error`. */
  releaseOne(type: string, id: string, error?: LimpetError): void {
    for (const bench of [...(this.#halls.get(type)?.benches.values() ?? [])]) {
      if (error === undefined) this.#sendOff(bench, id);
      else for (const turn of [...(bench.lines.get(id) ?? [])]) if (this.#take(turn)) turn.fail(error);
    }
  }

  /**
   * Releases the turns of this line one by one, so that calls caused by one of them do not overtake the rest.
   * Each turn gets one try, even behind one that returns at once: a call of another host may be rejected to
   * it while a call of this host must wait.
   */
  #sendOff({ lines }: ByShard, id: string): void {
    let last = 0;
    for (let turn = nextIn(lines.get(id), last); turn !== undefined; turn = nextIn(lines.get(id), last)) {
      last = turn.arrival;
      this.#take(turn);
      turn.place = undefined;
      if (turn.phase === "queued") this.#way.leave(turn);
    }
  }

  /** The process stops: no call may wait here any more. */
  close(): void {
    this.#closed = true;
    for (const turn of [...this.#spots.keys()]) if (this.#take(turn)) this.#sendAway(turn);
  }

  #sendAway(turn: Turn): void {
    turn.place = undefined;
    if (turn.rejectNotOwner !== undefined) turn.rejectNotOwner();
    else turn.fail(new LimpetError("STOPPING", `this process stops; nothing of ${turn.label} has happened`));
  }

  releaseAll(): void {
    for (const type of [...this.#halls.keys()]) this.release(type);
  }
}

/** Behind all earlier arrivals: nearly always at the end. */
function placeIn(line: readonly Turn[], { arrival }: Turn): number {
  let at = line.length;
  while (at > 0 && line[at - 1]!.arrival > arrival) at--;
  return at;
}

/** The first turn that arrived after `last`; earlier ones have just returned. */
function nextIn(line: readonly Turn[] | undefined, last: number): Turn | undefined {
  if (line === undefined || line[0]!.arrival > last) return line?.[0];
  let [low, high] = [0, line.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (line[middle]!.arrival > last) high = middle;
    else low = middle + 1;
  }
  return line[low];
}

const full = (type: string): LimpetError =>
  new LimpetError("NOT_READY", `${LIMITS.waitingRoom} calls already wait for a host of ${type}`);
