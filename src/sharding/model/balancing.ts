// Schedules the moves of one type: decides when to ask the strategy, and when each of its moves begins. Moves
// do not begin together, because they would meet at the same hosts and at the store, and wait for each other
// there.
//
// - A round: the strategy is asked, and its moves are planned. Some of them begin at every step, within the
//   limit.
// - After hosts have come or gone, moves begin one by one, and then ever more at once. A host that has just
//   started needs longer for each, and simultaneous moves would wait for it.
// - When a round is over the next one follows soon, until the strategy proposes no moves.
// - A plan is dropped when hosts come or go, or an operator pauses rebalancing; then the strategy is asked
//   again.
// Pure. type-shards.ts moves the shards.
import type { ShardSettings } from "./shard-effects.ts";
import type { Move } from "./strategy.ts";

/** Delay after hosts came or went; others may come or go in the same moment. */
const SOON_MS = 500;
/** Delay between rounds, while the strategy has more to move. */
const NEXT_ROUND_MS = 25;
/**
 * Maximum number of rounds in a row. A strategy that moves shards to and fro then waits for the regular
 * interval.
 */
const ROUNDS_IN_A_ROW = 200;
/** Every step begins a part of the moves allowed at once: about as many as have ended since. */
const STEP_MS = 6;
const STEPS = 5;
/** After this number of finished moves, one more may run at once. */
const ONE_MORE = 4;

export class Balancing {
  #settings: ShardSettings;
  #lookAt: number;
  #isPaused = false;
  #isRequested = false;
  #rounds = 0;
  /** In reverse order. */
  #planned: Move[] = [];
  #stepAt = 0;
  #isFull = false;
  /** Moves that have ended since hosts last came or went. */
  #ended = 0;

  constructor(settings: ShardSettings, now: number) {
    this.#settings = settings;
    this.#lookAt = now + settings.rebalanceMs;
  }

  adopt(settings: ShardSettings): void {
    this.#settings = settings;
    this.#planned = [];
  }

  get deadline(): number {
    const isGoingOn = this.#planned.length > 0 && !this.#isFull;
    return isGoingOn ? Math.min(this.#lookAt, this.#stepAt) : this.#lookAt;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  pause(isPaused: boolean, now: number): void {
    this.#isPaused = isPaused;
    if (isPaused) this.#planned = [];
    else this.lookSoon(now);
  }

  /** The strategy may have another answer. */
  lookSoon(now: number): void {
    this.#lookAt = Math.min(this.#lookAt, now);
  }

  hostsChanged(now: number): void {
    this.#planned = [];
    this.#ended = 0;
    this.lookSoon(now + SOON_MS);
  }

  isDue(now: number): boolean {
    if (now < this.#lookAt) return false;
    this.#lookAt = now + this.#settings.rebalanceMs;
    return true;
  }

  /** Returns true if the strategy shall be asked now; answered by `plan`. */
  requestMoves(): boolean {
    if (this.#isPaused || this.#isRequested) return false;
    this.#isRequested = true;
    return true;
  }

  plan(moves: readonly Move[]): void {
    this.#isRequested = false;
    if (this.#isPaused) return;
    this.#planned = moves.toReversed();
    this.#rounds = moves.length > 0 ? this.#rounds + 1 : 0;
  }

  /** The moves that begin now, while `moving` are in progress. */
  begin(moving: number, now: number): Move[] {
    const { movesAtOnce } = this.#settings;
    const most = Math.min(movesAtOnce, 1 + Math.floor(this.#ended / ONE_MORE));
    this.#isFull = moving >= most;
    if (this.#isFull || this.#planned.length === 0 || now < this.#stepAt) return [];
    this.#stepAt = now + STEP_MS;
    const count = Math.min(Math.ceil(movesAtOnce / STEPS), most - moving);
    return this.#planned.splice(-count).reverse();
  }

  /** A move has ended, and `moving` are still in progress. */
  ended(moving: number, now: number): void {
    this.#ended++;
    const isOver = moving === 0 && this.#planned.length === 0;
    if (isOver && this.#rounds < ROUNDS_IN_A_ROW) this.lookSoon(now + NEXT_ROUND_MS);
  }
}
