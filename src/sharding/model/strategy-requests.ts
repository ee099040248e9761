// Requests of the leader to a strategy of the application, which runs on hosts: homes of shards, and
// proposals to move some. One request of each kind is in flight at a time; shards that need a home meanwhile
// go together into the next one.
//
// After a timeout the leader sends no requests for a while: the code is the same on every host. On timeout
// the coordinator falls back to the default strategy. Pure: time is an argument, and a driver sends the
// messages.
import type { Move } from "./strategy.ts";

/** Reason why a strategy's answer could not be used. */
export type StrategyFault = "threw" | "late" | "nobody to ask" | "no such host";

export type StrategyEffect =
  /** Send a request to that host. `wanted`: shards, with the asking host of each; empty: request moves. */
  | {
      readonly kind: "askStrategy";
      readonly host: string;
      readonly question: number;
      readonly wanted: readonly { readonly shard: number; readonly asker: string | undefined }[];
    }
  /** The chosen homes. Undefined: the strategy named none. */
  | { readonly kind: "homes"; readonly homes: readonly Move[] }
  | { readonly kind: "moves"; readonly moves: readonly Move[] }
  | { readonly kind: "fault"; readonly fault: StrategyFault; readonly why: string };

interface StrategyRequest {
  readonly number: number;
  readonly host: string;
  readonly wanted: readonly { readonly shard: number; readonly asker: string | undefined }[];
  readonly until: number;
}

/** Pause after a request without an answer. */
const REST_MS = 30_000;

export class StrategyRequests {
  readonly #patienceMs: number;
  readonly #wanted = new Map<number, string | undefined>();
  #wantsMoves = false;
  #homes: StrategyRequest | undefined;
  #moves: StrategyRequest | undefined;
  #last: number;
  #restsUntil = Number.NEGATIVE_INFINITY;
  /** Grows after every failure: the next host may succeed. */
  #turn = 0;

  /** `before`: number of the last request to the previous strategy; its answer may still come. */
  constructor(patienceMs: number, before = 0) {
    this.#patienceMs = patienceMs;
    this.#last = before;
  }

  /** Number of the last request. */
  get last(): number {
    return this.#last;
  }

  get deadline(): number {
    return Math.min(this.#homes?.until ?? Number.POSITIVE_INFINITY, this.#moves?.until ?? Number.POSITIVE_INFINITY);
  }

  wantHome(shard: number, asker: string | undefined): void {
    if (this.#homes?.wanted.some((wanted) => wanted.shard === shard) !== true) this.#wanted.set(shard, asker);
  }

  wantMoves(): void {
    this.#wantsMoves = true;
  }

  /** Sends the pending requests, if possible now. `hosts`: hosts that have the strategy. */
  flush(hosts: readonly string[], now: number): StrategyEffect[] {
    const effects: StrategyEffect[] = [];
    if (this.#wanted.size > 0 && this.#homes === undefined) {
      const wanted = [...this.#wanted].map(([shard, asker]) => ({ shard, asker }));
      this.#wanted.clear();
      this.#homes = this.#send(hosts, wanted, now, effects);
    }
    if (this.#wantsMoves && this.#moves === undefined) {
      this.#wantsMoves = false;
      this.#moves = this.#send(hosts, [], now, effects);
    }
    return effects;
  }

  #send(
    hosts: readonly string[],
    wanted: StrategyRequest["wanted"],
    now: number,
    effects: StrategyEffect[],
  ): StrategyRequest | undefined {
    const isResting = now < this.#restsUntil;
    const host = isResting ? undefined : hosts[this.#turn % hosts.length];
    if (host === undefined) {
      if (!isResting) effects.push({ kind: "fault", fault: "nobody to ask", why: "no host of the type can be asked" });
      effects.push(unanswered(wanted));
      return undefined;
    }
    const number = ++this.#last;
    effects.push({ kind: "askStrategy", host, question: number, wanted });
    return { number, host, wanted, until: now + this.#patienceMs };
  }

  /** Handles an answer. `problem`: why it is missing or incomplete. */
  answered(number: number, host: string, choices: readonly Move[], problem: string | undefined): StrategyEffect[] {
    const isHomes = this.#homes?.number === number;
    const question = isHomes ? this.#homes : this.#moves;
    if (question?.number !== number || question.host !== host) return [];
    const effects: StrategyEffect[] = [];
    if (problem !== undefined) {
      this.#turn++;
      effects.push({ kind: "fault", fault: "threw", why: problem });
    }
    if (isHomes) {
      this.#homes = undefined;
      const places = new Map(choices.map(({ shard, to }) => [shard, to]));
      const homes = question.wanted.map(({ shard }) => ({ shard, to: places.get(shard) }));
      const isSilent = homes.some(({ to }) => to === undefined);
      if (isSilent && problem === undefined) effects.push({ kind: "fault", fault: "no such host", why: NO_SUCH });
      effects.push({ kind: "homes", homes });
    } else {
      this.#moves = undefined;
      effects.push({ kind: "moves", moves: choices });
    }
    return effects;
  }

  /** The host has no stream any more, so it will not answer. Another host is asked. */
  lost(host: string): void {
    if (this.#homes?.host === host) {
      for (const { shard, asker } of this.#homes.wanted) this.#wanted.set(shard, asker);
      this.#homes = undefined;
    }
    if (this.#moves?.host === host) {
      this.#moves = undefined;
      this.#wantsMoves = true;
    }
  }

  tick(now: number): StrategyEffect[] {
    const late = [this.#homes, this.#moves].filter((question) => question !== undefined && question.until <= now);
    if (late.length === 0) return [];
    const effects: StrategyEffect[] = [];
    this.#restsUntil = now + REST_MS;
    this.#turn++;
    for (const question of late) {
      if (question === this.#homes) this.#homes = undefined;
      else this.#moves = undefined;
      effects.push({ kind: "fault", fault: "late", why: `it has not answered within ${this.#patienceMs} ms` });
      effects.push(unanswered(question!.wanted));
    }
    return effects;
  }
}

const NO_SUCH = "it named no host, or one that is not there";

const unanswered = (wanted: StrategyRequest["wanted"]): StrategyEffect =>
  wanted.length === 0
    ? { kind: "moves", moves: [] }
    : { kind: "homes", homes: wanted.map(({ shard }) => ({ shard, to: undefined })) };
