// Calls that wait, by when they stop waiting. Calls with the same timeout run out in the order in which they came, so
// each timeout has one list, adding and removing is a few pointers, and one timer serves them all.

import { formatDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Turn } from "./turn.ts";
import type { UnhandledCalls } from "./unhandled-calls.ts";

class Line {
  first: Turn | undefined;
  last: Turn | undefined;
}

/** How long a moment is. */
const ORPHAN_MS = 100;

const due = (turn: Turn): number => (turn.line < 0 ? -turn.line : turn.deadlineAt);

const tooLate = (turn: Turn): LimpetError =>
  new LimpetError("CALL_TIMEOUT", `${turn.label} took longer than ${formatDuration(turn.timeoutMs)}`);

export class Deadlines {
  /** Where failed calls of actors are noted. Every turn of a host has its deadlines, so turns find it here. Undefined: nowhere. */
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

  /** The same for a turn that is not the newest of its timeout: those that end within the same moment share a line. */
  addOrphan(turn: Turn): void {
    this.#join(turn, -Math.ceil(turn.deadlineAt / ORPHAN_MS) * ORPHAN_MS);
  }

  /** Within a line deadlines ascend; in the line of a moment all of them are taken for its end. */
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
        turn.cancel(turn.place?.late?.(turn) ?? tooLate(turn));
      }
      if (line.first === undefined) this.#lines.delete(key);
      else next = Math.min(next, due(line.first));
    }
    if (next < this.#timerAt) this.#arm(next);
  }
}
