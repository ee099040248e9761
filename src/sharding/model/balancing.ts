// When it is looked whether shards of one type should move, and when each of those begins that a strategy has named. They do not begin
// together: what begins together comes to the same hosts and to the store at the same moment, and waits for each other there.
//
// - A round: the strategy is asked, and what it names is planned. Some of it begins at every step, as far as the limit allows.
// - After hosts have come or gone the first ones go one by one, and then ever more at once: a host that has just begun needs longer for each,
//   and would keep those waiting that come together.
// - When all of it is over the next round follows soon, until the strategy has nothing to move.
// - What is planned counts as long as nothing else is known: when hosts come or go, or somebody pauses, it is forgotten and asked for again.
// Pure. type-shards.ts moves them.
import type { ShardSettings } from "./shard-effects.ts";
import type { Move } from "./strategy.ts";

/** After hosts came or went it is soon looked whether shards should move; others may come or go in the same moment. */
const SOON_MS = 500;
/** While a strategy has more to move, its rounds follow each other. */
const NEXT_ROUND_MS = 25;
/** So many at most. One that never comes to an end, moving to and fro, then has to wait like any other. */
const ROUNDS_IN_A_ROW = 200;
/** At every step a part of those begin that may be on their way at once: about as many as have come to their end since. */
const STEP_MS = 6;
const STEPS = 5;
/** After so many there may be one more at once than before. */
const ONE_MORE = 4;

export class Balancing {
  #settings: ShardSettings;
  #lookAt: number;
  #isPaused = false;
  #isAsked = false;
  #rounds = 0;
  /** The next one is the last. */
  #planned: Move[] = [];
  #stepAt = 0;
  #isFull = false;
  /** Moves that came to their end since hosts came or went last. */
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

  /** The strategy may have something else to say. */
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

  /** True: it is to be asked now; answered by `plan`. */
  ask(): boolean {
    if (this.#isPaused || this.#isAsked) return false;
    this.#isAsked = true;
    return true;
  }

  plan(moves: readonly Move[]): void {
    this.#isAsked = false;
    if (this.#isPaused) return;
    this.#planned = moves.toReversed();
    this.#rounds = moves.length > 0 ? this.#rounds + 1 : 0;
  }

  /** Those that begin now, while so many are on their way. */
  begin(moving: number, now: number): Move[] {
    const { movesAtOnce } = this.#settings;
    const most = Math.min(movesAtOnce, 1 + Math.floor(this.#ended / ONE_MORE));
    this.#isFull = moving >= most;
    if (this.#isFull || this.#planned.length === 0 || now < this.#stepAt) return [];
    this.#stepAt = now + STEP_MS;
    const count = Math.min(Math.ceil(movesAtOnce / STEPS), most - moving);
    return this.#planned.splice(-count).reverse();
  }

  /** One has come to its end, and so many are still on their way. */
  ended(moving: number, now: number): void {
    this.#ended++;
    const isOver = moving === 0 && this.#planned.length === 0;
    if (isOver && this.#rounds < ROUNDS_IN_A_ROW) this.lookSoon(now + NEXT_ROUND_MS);
  }
}
