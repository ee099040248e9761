// Calls that wait, by when they stop waiting. Calls with the same timeout run out in the order in which they came, so
// each timeout has one list, adding and removing is a few pointers, and one timer serves them all.

import { formatDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Turn } from "./turn.ts";

class Line {
  first: Turn | undefined;
  last: Turn | undefined;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #lines = new Map<number, Line>();
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Cancels `turn` with CALL_TIMEOUT when `turn.deadlineAt` has come, unless it is removed before. */
  add(turn: Turn): void {
    let line = this.#lines.get(turn.timeoutMs);
    if (line === undefined) {
      line = new Line();
      this.#lines.set(turn.timeoutMs, line);
    }
    turn.earlier = line.last;
    if (line.last === undefined) line.first = turn;
    else line.last.later = turn;
    line.last = turn;
    turn.timed = true;
    if (turn.deadlineAt < this.#timerAt) this.#arm(turn.deadlineAt);
  }

  remove(turn: Turn): void {
    if (!turn.timed) return;
    const line = this.#lines.get(turn.timeoutMs)!;
    if (turn.earlier === undefined) line.first = turn.later;
    else turn.earlier.later = turn.later;
    if (turn.later === undefined) line.last = turn.earlier;
    else turn.later.earlier = turn.earlier;
    turn.earlier = undefined;
    turn.later = undefined;
    turn.timed = false;
  }

  #arm(at: number): void {
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = this.#clock.after(at - this.#clock.monotonic(), () => this.#expire(), "background");
  }

  #expire(): void {
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonic();
    let next = Number.POSITIVE_INFINITY;
    for (const [timeoutMs, line] of this.#lines) {
      for (let turn = line.first; turn !== undefined && turn.deadlineAt <= now; turn = line.first) {
        this.remove(turn);
        turn.cancel(new LimpetError("CALL_TIMEOUT", `${turn.label} took longer than ${formatDuration(timeoutMs)}`));
      }
      if (line.first === undefined) this.#lines.delete(timeoutMs);
      else next = Math.min(next, line.first.deadlineAt);
    }
    if (next < this.#timerAt) this.#arm(next);
  }
}
