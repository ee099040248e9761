// Calls that cannot be on their way yet: their actor is moving, its host is not known, or cannot be reached. They wait by
// type, in the order they came, for the next change of that type's table or a while of their own, whichever comes first. Their
// deadlines are watched as everybody's; their number has a limit. A process stays for as long as somebody waits here.
import { formatDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Place, Turn } from "./turn.ts";

/** So often each tries again, whether or not there was a change: nobody waits for ever for one that was missed. */
const LOOK_AGAIN_MS = 1_000;

interface Bench {
  /** Each with the moment at which it tries again by itself. */
  readonly turns: Map<Turn, number>;
  readonly byId: Map<string, Set<Turn>>;
  timer: Timer | undefined;
  timerAt: number;
}

export interface WayOut {
  /** Sends a turn on its way again; it may come right back. */
  leave(turn: Turn): void;
  /** Why this host cannot find the way at the moment, if it cannot. */
  problem(): string | undefined;
}

export class WaitingRoom implements Place {
  readonly #clock: Clock;
  readonly #way: WayOut;
  readonly #benches = new Map<string, Bench>();
  #closed = false;

  constructor(clock: Clock, way: WayOut) {
    this.#clock = clock;
    this.#way = way;
  }

  get size(): number {
    let size = 0;
    for (const { turns } of this.#benches.values()) size += turns.size;
    return size;
  }

  waiting(type: string): number {
    return this.#benches.get(type)?.turns.size ?? 0;
  }

  /** `forMs`: it may not have to wait for a change, so it tries again after this. */
  add(turn: Turn, forMs = LOOK_AGAIN_MS): void {
    if (this.#closed) {
      this.#sendAway(turn);
      return;
    }
    const type = turn.type.name;
    let bench = this.#benches.get(type);
    if (bench === undefined) {
      bench = { turns: new Map(), byId: new Map(), timer: undefined, timerAt: Number.POSITIVE_INFINITY };
      this.#benches.set(type, bench);
    }
    if (bench.turns.size >= LIMITS.waitingRoom) {
      turn.fail(new LimpetError("NOT_READY", `${LIMITS.waitingRoom} calls already wait for a host of ${type}`));
      return;
    }
    turn.place = this;
    turn.waited = true;
    const at = this.#clock.monotonic() + forMs;
    bench.turns.set(turn, at);
    const neighbours = bench.byId.get(turn.id);
    if (neighbours === undefined) bench.byId.set(turn.id, new Set([turn]));
    else neighbours.add(turn);
    if (at < bench.timerAt) this.#arm(type, bench, at, forMs);
  }

  #arm(type: string, bench: Bench, at: number, ms: number): void {
    bench.timer?.cancel();
    bench.timerAt = at;
    bench.timer = this.#clock.after(ms, () => this.#ring(type, bench));
  }

  /** Only those whose time has come: who came later must not make the others hurry. */
  #ring(type: string, bench: Bench): void {
    // A timer may be a hair early.
    const now = Math.max(this.#clock.monotonic(), bench.timerAt);
    bench.timerAt = Number.POSITIVE_INFINITY;
    const due: Turn[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const [turn, at] of bench.turns) {
      if (at <= now) due.push(turn);
      else if (at < next) next = at;
    }
    for (const turn of due) take(bench, turn);
    if (bench.turns.size === 0) this.#clear(type, bench);
    else this.#arm(type, bench, next, next - now);
    this.#sendOff(due);
  }

  withdraw(turn: Turn): void {
    const bench = this.#benches.get(turn.type.name);
    if (bench !== undefined && take(bench, turn) && bench.turns.size === 0) this.#clear(turn.type.name, bench);
  }

  /** It never was on its way, so nothing can have happened. */
  late(turn: Turn): LimpetError {
    const waited = formatDuration(turn.timeoutMs);
    const why = this.#way.problem() ?? turn.obstacle ?? "its actor is moving";
    const message = `${turn.label} waited ${waited} for a host that may run it; nothing happened. The reason: ${why}`;
    return new LimpetError("NOT_READY", message);
  }

  /** Everybody who waits for this type tries again, in order. */
  release(type: string): void {
    const bench = this.#benches.get(type);
    if (bench === undefined) return;
    this.#clear(type, bench);
    this.#sendOff(bench.turns.keys());
  }

  /** Those who wait for this one actor try again, in order; or hear why they cannot. */
  releaseOne(type: string, id: string, error?: LimpetError): void {
    const bench = this.#benches.get(type);
    const turns = bench?.byId.get(id);
    if (bench === undefined || turns === undefined) return;
    bench.byId.delete(id);
    for (const turn of turns) bench.turns.delete(turn);
    if (bench.turns.size === 0) this.#clear(type, bench);
    if (error === undefined) this.#sendOff(turns);
    else for (const turn of turns) if (turn.phase === "queued") turn.fail(error);
  }

  #sendOff(turns: Iterable<Turn>): void {
    for (const turn of turns) {
      // One that is on its way again may have made the caller of another give up.
      if (turn.phase !== "queued") continue;
      turn.place = undefined;
      this.#way.leave(turn);
    }
  }

  /** Nobody may wait here any more: the process stops. */
  close(): void {
    this.#closed = true;
    for (const [type, bench] of [...this.#benches]) {
      this.#clear(type, bench);
      for (const turn of bench.turns.keys()) this.#sendAway(turn);
    }
  }

  #sendAway(turn: Turn): void {
    turn.place = undefined;
    if (turn.turnBack !== undefined) turn.turnBack();
    else turn.fail(new LimpetError("STOPPING", `this process stops; nothing of ${turn.label} has happened`));
  }

  releaseAll(): void {
    for (const type of [...this.#benches.keys()]) this.release(type);
  }

  #clear(type: string, bench: Bench): void {
    bench.timer?.cancel();
    this.#benches.delete(type);
  }
}

function take({ turns, byId }: Bench, turn: Turn): boolean {
  if (!turns.delete(turn)) return false;
  const neighbours = byId.get(turn.id);
  neighbours?.delete(turn);
  if (neighbours?.size === 0) byId.delete(turn.id);
  return true;
}
