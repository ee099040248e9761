// Calls that cannot be on their way yet: their actor is moving, its host is not known, or cannot be reached. They wait by
// type, those of a sharded type by shard, for the next change of where they may go or a while of their own, whichever comes
// first. Calls to one actor stand in line: they leave together, in the order they came, and who has to wait again is in front of
// those who came later. Their deadlines are watched as everybody's; their number has a limit. A process stays for as long as
// somebody waits here.
import { formatDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Place, Turn } from "../activation/turn.ts";

/** So often each tries again, whether or not there was a change: nobody waits for ever for one that was missed. */
export const LOOK_AGAIN_MS = 1_000;

interface ByShard {
  readonly type: string;
  readonly shard: number;
  /** By actor; each line in the order of arrival, and never empty. */
  readonly lines: Map<string, Turn[]>;
  timer: Timer | undefined;
  timerAt: number;
}

interface Entry {
  readonly bench: ByShard;
  /** When it tries again by itself. */
  readonly at: number;
}

/** Those who wait for one type. */
interface ByType {
  readonly benches: Map<number, ByShard>;
  waiting: number;
}

export interface WayOut {
  /** Sends a turn on its way again; it may come right back. */
  leave(turn: Turn): void;
  /** Why this host cannot find the way at the moment, if it cannot. */
  problem(): string | undefined;
  /** Which of the shards of its type it waits for. Undefined, as of every turn unless given: that is not known, or there are none. */
  shardOf?(turn: Turn): number | undefined;
  /** Calls of the type that may wait here. */
  capacity?(type: string): number;
  /** How often each of them tries again, whether or not there was a change. */
  lookAgainMs?(type: string): number;
  /** What those are told for whom there is no room. */
  full?(type: string): LimpetError;
}

/** Where those wait of whom no shard is known. */
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

  /** Somebody waits for this actor. */
  has(type: string, id: string, shard = NO_SHARD): boolean {
    return this.#halls.get(type)?.benches.get(shard)?.lines.has(id) === true;
  }

  /** From now on it is older than those who come after it. */
  number(turn: Turn): void {
    if (turn.arrival === 0) turn.arrival = ++this.#lastArrival;
  }

  /** Somebody waits for the same actor who came before it. */
  isBehind(turn: Turn): boolean {
    const hall = this.#halls.get(turn.type.name);
    if (hall === undefined) return false;
    const first = hall.benches.get(this.#shardOf(turn))?.lines.get(turn.id)?.[0];
    return first !== undefined && first.arrival < turn.arrival;
  }

  /** `forMs`: it may not have to wait for a change, so it tries again after this. */
  add(turn: Turn, forMs?: number): void {
    if (this.#closed) {
      this.#sendAway(turn);
      return;
    }
    const type = turn.type.name;
    // Who has been here before has been promised that it may wait.
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

  /** False: it does not wait here any more. */
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

  /** Only those whose time has come, and who stands in line with them: who came later must not make the others hurry. */
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

  /** It never was on its way, so nothing can have happened. */
  late(turn: Turn): LimpetError {
    const waited = formatDuration(turn.timeoutMs);
    const why = this.#way.problem() ?? turn.obstacle ?? "its actor is moving";
    const message = `${turn.label} waited ${waited} for a host that may run it; nothing happened. The reason: ${why}`;
    return new LimpetError("NOT_READY", message);
  }

  /** Everybody who waits for this type, or for this shard of it, tries again, in order. */
  release(type: string, shard?: number): void {
    const benches = this.#halls.get(type)?.benches;
    if (benches === undefined) return;
    const some = shard === undefined ? [...benches.values()] : [benches.get(shard), benches.get(NO_SHARD)];
    for (const bench of some) {
      if (bench !== undefined) for (const id of [...bench.lines.keys()]) this.#sendOff(bench, id);
    }
  }

  /** Those who wait for this one actor try again, in order; or hear why they cannot. */
  releaseOne(type: string, id: string, error?: LimpetError): void {
    for (const bench of [...(this.#halls.get(type)?.benches.values() ?? [])]) {
      if (error === undefined) this.#sendOff(bench, id);
      else for (const turn of [...(bench.lines.get(id) ?? [])]) if (this.#take(turn)) turn.fail(error);
    }
  }

  /**
   * Everybody in this line, one by one: who is still here is not overtaken by what the one that leaves may set off. Each has one try, also
   * behind one that comes right back: a call of another host may be sent back there, when one of this host has to wait.
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

  /** Nobody may wait here any more: the process stops. */
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

/** Behind everybody who came before it: nearly always at the end. */
function placeIn(line: readonly Turn[], { arrival }: Turn): number {
  let at = line.length;
  while (at > 0 && line[at - 1]!.arrival > arrival) at--;
  return at;
}

/** The first that came after that one: who came before has just come back. */
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
