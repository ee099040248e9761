// The leader's view of one actor type in one namespace: who hosts it, and the round that tells everybody.
//
//   closed → settled ⇄ updating → unlocking → settled
//
// - closed: a new leader does not know yet who may hold actors of the type. Nothing is decided.
// - settled: the finished table is in force everywhere it counts. Its version may be the base of the next one.
// - updating: LOCK and UPDATE of a new version have gone out; actors that move are being let go. When every member of the
//   round has acknowledged, nobody holds an actor it should not, and UNLOCK goes out.
// - unlocking: UNLOCK has gone out. When every member has acknowledged it, the round is over.
//
// Members of a round are the hosts of the type before or after. Everybody else hears the orders and is not waited for. Who
// leaves for good (`gone`) is not waited for either; who is merely silent is, until its lease is over. Changes that come
// during a round wait for its end and become one round. Pure.
import { invariant } from "../../kernel/errors.ts";
import type { TableVersion } from "../../kernel/versions.ts";
import type { ChangeReason, Operation, TableHost, TypeTable } from "../../ports/control-messages.ts";

/** What it wants done; the namespace gathers the wishes of all types into orders. */
export type TypeWish =
  | { readonly kind: "begin"; readonly table: TypeTable; readonly reason: ChangeReason }
  | { readonly kind: "unlock"; readonly round: number }
  | { readonly kind: "settled"; readonly tookMs: number }
  /** These have not acknowledged for half of the time they have: they are sent the same orders again. */
  | { readonly kind: "again"; readonly incarnations: readonly string[] }
  /** These let the round wait for too long. */
  | { readonly kind: "late"; readonly incarnations: readonly string[] };

interface Round {
  readonly number: number;
  readonly table: TypeTable;
  readonly startedAt: number;
  /** Those of them that are gone are taken out. */
  readonly members: Set<string>;
  phase: "updating" | "unlocking";
  /** Its members need not acknowledge it. */
  readonly isTrivial: boolean;
  /** Members whose acknowledgement of this phase is missing. */
  waiting: Set<string>;
  /** When those who are still waited for have let it wait too long. */
  lateAt: number;
  /** When those are sent the orders of this phase once more. */
  againAt: number;
}

export interface TypeSettings {
  readonly roundTimeoutMs: number;
  readonly coalesceMs: number;
}

export class ActorTypeController {
  readonly type: string;
  readonly #term: number;
  readonly #settings: TypeSettings;
  /** Its actors stay where they are. As all hosts say, so it changes only while there are none. */
  sticky = false;
  /** They live in so many shards, which move one by one. */
  shards: number | undefined;
  ownShards = false;
  #closed = true;
  /** Who should host it, by incarnation. */
  #wanted: ReadonlyMap<string, TableHost> = new Map();
  #reason: ChangeReason = "takeover";
  /** Since when what is wanted differs from what was last told. */
  #dirtySince: number | undefined;
  #lastNumber = 0;
  #finished: TypeTable | undefined;
  /** What the next round may be compared with. */
  #base: TableVersion | undefined;
  /** Hosts of the table in force: those that may hold actors now. */
  #holders = new Set<string>();
  #round: Round | undefined;

  constructor(type: string, term: number, settings: TypeSettings) {
    this.type = type;
    this.#term = term;
    this.#settings = settings;
  }

  get phase(): "closed" | "settled" | "updating" | "unlocking" {
    return this.#closed ? "closed" : (this.#round?.phase ?? "settled");
  }

  get finished(): TypeTable | undefined {
    return this.#finished;
  }

  /** The newest table there is, finished or not. */
  get table(): TypeTable | undefined {
    return this.#round?.table ?? this.#finished;
  }

  /** A change waits for its window to end, and becomes a round then. */
  get isPending(): boolean {
    return !this.#closed && this.#round === undefined && this.#dirtySince !== undefined;
  }

  get waitsFor(): ReadonlySet<string> {
    return this.#round?.waiting ?? new Set();
  }

  /** When `tick` has something to do; endless when never. */
  get deadline(): number {
    const { lateAt = Number.POSITIVE_INFINITY, againAt = Number.POSITIVE_INFINITY } = this.#round ?? {};
    const late = Math.min(lateAt, againAt);
    const due = this.#round === undefined && !this.#closed && this.#dirtySince !== undefined;
    return due ? Math.min(late, this.#dirtySince! + this.#settings.coalesceMs) : late;
  }

  /**
   * Everybody who may hold actors of the type is known. `holders` are they, `base` the version all of them have unlocked,
   * if it is the same; `lastNumber` the highest any of them has seen.
   */
  open(holders: ReadonlySet<string>, base: TableVersion | undefined, lastNumber: number, now: number): void {
    invariant(this.#closed, "a type is opened once");
    this.#closed = false;
    this.#holders = new Set(holders);
    this.#base = base;
    this.#lastNumber = lastNumber;
    // Even if nothing has changed: this leader has told nobody anything yet.
    this.#dirtySince = now - this.#settings.coalesceMs;
  }

  /** Level-triggered: all who should host it now. */
  want(hosts: ReadonlyMap<string, TableHost>, reason: ChangeReason, now: number): void {
    this.#wanted = hosts;
    if (this.#closed) return;
    if (this.#agrees()) {
      this.#dirtySince = undefined;
      return;
    }
    this.#dirtySince ??= now;
    // Whatever else has happened: the first round of a new leader is told because there is one.
    this.#reason = this.table === undefined && this.#lastNumber > 0 ? "takeover" : reason;
  }

  /** Who should host it is about to be known: until then what was told stays. */
  hold(): void {
    this.#dirtySince = undefined;
  }

  /** Does the newest table name exactly those who are wanted? */
  #agrees(): boolean {
    const told = this.table;
    if (told === undefined) return false;
    return (
      told.hosts.length === this.#wanted.size && told.hosts.every(({ incarnation }) => this.#wanted.has(incarnation))
    );
  }

  /**
   * Begins round `number` if there is a reason and no other round. `isNew`: the host has no table yet. A round whose members are all new is
   * over at once: no host holds an actor, and each host finds the table in its snapshot.
   */
  begin(number: number, now: number, isNew: (incarnation: string) => boolean = () => false): TypeWish[] {
    if (this.#closed || this.#round !== undefined || this.#dirtySince === undefined) return [];
    if (now < this.#dirtySince + this.#settings.coalesceMs) return [];
    this.#dirtySince = undefined;
    const hosts = [...this.#wanted.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
    const version = { term: this.#term, number: ++this.#lastNumber };
    const table: TypeTable = {
      type: this.type,
      version,
      base: this.#base,
      hosts,
      sticky: this.sticky,
      ...(this.shards === undefined ? {} : { shards: this.shards }),
      ...(this.ownShards ? { ownShards: true } : {}),
      reason: this.#reason,
    };
    const members = new Set([...this.#holders, ...this.#wanted.keys()]);
    const isTrivial = members.size > 0 && [...members].every(isNew);
    this.#round = {
      number,
      table,
      startedAt: now,
      members,
      phase: "updating",
      isTrivial,
      waiting: isTrivial ? new Set() : new Set(members),
      ...this.#limits(now),
    };
    return [{ kind: "begin", table, reason: this.#reason }, ...this.#advance(now)];
  }

  /** What does not fit is somebody's late or mistaken word, and ignored. */
  acked(incarnation: string, operation: Operation, round: number, now: number): TypeWish[] {
    const current = this.#round;
    if (current === undefined || current.number !== round) return [];
    if (operation !== (current.phase === "updating" ? "update" : "unlock")) return [];
    return current.waiting.delete(incarnation) ? this.#advance(now) : [];
  }

  /** It holds nothing any more: it said goodbye, or its lease is over. */
  gone(incarnation: string, now: number): TypeWish[] {
    this.#holders.delete(incarnation);
    this.#round?.members.delete(incarnation);
    return this.#round?.waiting.delete(incarnation) ? this.#advance(now) : [];
  }

  #advance(now: number): TypeWish[] {
    const round = this.#round;
    if (round === undefined || round.waiting.size > 0) return [];
    if (round.phase === "updating") {
      round.phase = "unlocking";
      const hosts = round.table.hosts.map(({ incarnation }) => incarnation);
      this.#holders = new Set(hosts.filter((incarnation) => round.members.has(incarnation)));
      round.waiting = round.isTrivial ? new Set() : new Set(round.members);
      Object.assign(round, this.#limits(now));
      return [{ kind: "unlock", round: round.number }, ...this.#advance(now)];
    }
    this.#finished = round.table;
    this.#base = round.table.version;
    this.#round = undefined;
    return [{ kind: "settled", tookMs: now - round.startedAt }];
  }

  #limits(now: number): Pick<Round, "lateAt" | "againAt"> {
    const { roundTimeoutMs } = this.#settings;
    return { lateAt: now + roundTimeoutMs, againAt: now + roundTimeoutMs / 2 };
  }

  tick(now: number): TypeWish[] {
    const round = this.#round;
    if (round === undefined) return [];
    if (now < round.lateAt) {
      if (now < round.againAt) return [];
      round.againAt = Number.POSITIVE_INFINITY;
      return [{ kind: "again", incarnations: [...round.waiting] }];
    }
    // They are told once; from then on their leases decide.
    round.againAt = Number.POSITIVE_INFINITY;
    round.lateAt = Number.POSITIVE_INFINITY;
    return [{ kind: "late", incarnations: [...round.waiting] }];
  }

  /** What a host that has just (re)connected must hear of a round under way. */
  catchUp(): { readonly round: number; readonly table: TypeTable; readonly unlocked: boolean } | undefined {
    const round = this.#round;
    return round && { round: round.number, table: round.table, unlocked: round.phase === "unlocking" };
  }

  /** May it hold actors, by any table this leader has told of? */
  mayHold(incarnation: string): boolean {
    return (
      this.#holders.has(incarnation) || this.#wanted.has(incarnation) || this.#round?.members.has(incarnation) === true
    );
  }
}
