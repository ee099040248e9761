// Waiting calls, ordered by deadline. Calls with the same timeout expire in order of arrival. So each timeout
// has one linked list, adding and removing changes a few pointers, and one timer serves all lists.

import { formatDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Turn } from "./turn.ts";
import type { UnhandledCalls } from "./unhandled-calls.ts";

class Line {
  first: Turn | undefined;
  last: Turn | undefined;
}

/** Width of a slot for orphans. */
const ORPHAN_MS = 100;

const due = (turn: Turn): number => (turn.line < 0 ? -turn.line : turn.deadlineAt);

const tooLate = (turn: Turn): LimpetError =>
  new LimpetError("CALL_TIMEOUT", `${turn.label} took longer than ${formatDuration(turn.timeoutMs)}`);

export class Deadlines {
  /**
   * Records failed calls of actors; undefined: not recorded. It is here because every turn has a reference to
   * its deadlines.
   */
  readonly unhandled: UnhandledCalls | undefined;
  readonly #clock: Clock;
  readonly #lines = new Map<number, Line>();
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, unhandled?: UnhandledCalls) {
    this.#clock = clock;
    this.unhandled = unhandled;
  }

  /** Cancels `turn` with CALL_TIMEOUT when `turn.deadlineAt` has come, unless it is removed before. */
  add(turn: Turn): void {
    this.#join(turn, turn.timeoutMs);
  }

  /**
   * The same for a turn out of order within its timeout: turns that expire within the same slot share a list.
   */
  addOrphan(turn: Turn): void {
    this.#join(turn, -Math.ceil(turn.deadlineAt / ORPHAN_MS) * ORPHAN_MS);
  }

  /** Deadlines ascend within a list; a slot's turns all expire at its end. */
  #join(turn: Turn, key: number): void {
    turn.line = key;
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = new Line();
      this.#lines.set(key, line);
    }
    turn.earlier = line.last;
    if (line.last === undefined) line.first = turn;
    else line.last.later = turn;
    line.last = turn;
    turn.timed = true;
    if (due(turn) < this.#timerAt) this.#arm(due(turn));
  }

  remove(turn: Turn): void {
    if (!turn.timed) return;
    const line = this.#lines.get(turn.line)!;
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
    for (const [key, line] of this.#lines) {
      for (let turn = line.first; turn !== undefined && due(turn) <= now; turn = line.first) {
        this.remove(turn);
        turn.cancel(turn.holder?.late?.(turn) ?? tooLate(turn));
      }
      if (line.first === undefined) this.#lines.delete(key);
      else next = Math.min(next, due(line.first));
    }
    if (next < this.#timerAt) this.#arm(next);
  }
}
