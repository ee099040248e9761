// The leader's state of one actor type in one namespace: its hosts, and the round that distributes a new
// table.
//
//   closed → settled ⇄ updating → unlocking → settled
//
// - closed: a new leader does not know yet which hosts may hold actors of the type. It decides nothing.
// - settled: the finished table is in force on every host of the type. Its version may be the base of the
//   next table.
// - updating: LOCK and UPDATE of a new version have been sent. Hosts drain the actors that move. When every
//   member of the round has acknowledged, no host holds an actor that another host owns, and the leader sends
//   UNLOCK.
// - unlocking: UNLOCK has been sent. When every member has acknowledged it, the round is over.
//
// Members of a round are the hosts of the type before or after the change. Other hosts receive the orders,
// and the round does not wait for them. Nor does it wait for a host that has left for good (`gone`). It waits
// for a silent host until that host's lease is over. Changes that come during a round wait for its end and
// become one round. Pure.
import { invariant } from "../../kernel/errors.ts";
import { showVersion, type TableVersion } from "../../kernel/versions.ts";
import type { ChangeReason, Operation, TableHost, TypeTable } from "../../ports/control-messages.ts";

/** A step that a type requests; the namespace collects the steps of all types into orders. */
export type TypeRequest =
  | { readonly kind: "begin"; readonly table: TypeTable; readonly reason: ChangeReason }
  | { readonly kind: "unlock"; readonly round: number }
  | { readonly kind: "settled"; readonly tookMs: number }
  /** These hosts have used half of their time without an acknowledgement: the leader repeats the orders. */
  | { readonly kind: "again"; readonly incarnations: readonly string[] }
  /** These hosts have delayed the round for too long. */
  | { readonly kind: "late"; readonly incarnations: readonly string[] };

interface Round {
  readonly number: number;
  readonly table: TypeTable;
  readonly startedAt: number;
  /** Incarnations; a host that is gone is removed. */
  readonly members: Set<string>;
  phase: "updating" | "unlocking";
  /** Its members need not acknowledge it. */
  readonly isTrivial: boolean;
  /** Members that have not acknowledged this phase yet. */
  waiting: Set<string>;
  /** Time at which the members in `waiting` count as late. */
  lateAt: number;
  /** Time at which the leader repeats the orders of this phase to the members in `waiting`. */
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
  /**
   * Actors of the type stay on their host. All hosts report the same, so it changes only while there are
   * none.
   */
  sticky = false;
  /** Number of shards of the type; shards move one by one. */
  shards: number | undefined;
  ownShards = false;
  #closed = true;
  /** Hosts that the next table shall list, by incarnation. */
  #wanted: ReadonlyMap<string, TableHost> = new Map();
  #reason: ChangeReason = "takeover";
  /** Time since when `#wanted` differs from the newest table. */
  #dirtySince: number | undefined;
  #lastNumber = 0;
  #lastRound = 0;
  #finished: TypeTable | undefined;
  /** Version that the next table may be compared with. */
  #base: TableVersion | undefined;
  /** Hosts of the table in force: they may hold actors now. */
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

  /** The newest table, finished or not. */
  get table(): TypeTable | undefined {
    return this.#round?.table ?? this.#finished;
  }

  /** A change waits for the end of its coalescing window, and then becomes a round. */
  get isPending(): boolean {
    return !this.#closed && this.#round === undefined && this.#dirtySince !== undefined;
  }

  get waitsFor(): ReadonlySet<string> {
    return this.#round?.waiting ?? new Set();
  }

  /** Time of the next `tick` that has work; infinite when there is none. */
  get deadline(): number {
    const { lateAt = Number.POSITIVE_INFINITY, againAt = Number.POSITIVE_INFINITY } = this.#round ?? {};
    const late = Math.min(lateAt, againAt);
    const due = this.#round === undefined && !this.#closed && this.#dirtySince !== undefined;
    return due ? Math.min(late, this.#dirtySince! + this.#settings.coalesceMs) : late;
  }

  /**
   * Opens the type when all hosts that may hold actors of it, `holders`, are known. `base` is the version
   * that all of them have unlocked, if it is the same one. `lastNumber` is the highest number that any of
   * them has seen.
   */
  open(holders: ReadonlySet<string>, base: TableVersion | undefined, lastNumber: number, now: number): void {
    this.#require(this.#closed, "a type is opened once");
    this.#closed = false;
    this.#holders = new Set(holders);
    this.#base = base;
    this.#lastNumber = lastNumber;
    // Necessary even if nothing has changed: this leader has sent no table yet.
    this.#dirtySince = now - this.#settings.coalesceMs;
  }

  /** Level-triggered: all hosts that shall host the type now. */
  want(hosts: ReadonlyMap<string, TableHost>, reason: ChangeReason, now: number): void {
    this.#wanted = hosts;
    if (this.#closed) return;
    if (this.#agrees()) {
      this.#dirtySince = undefined;
      return;
    }
    this.#dirtySince ??= now;
    // The first round of a new leader has the reason "takeover", regardless of other changes.
    this.#reason = this.table === undefined && this.#lastNumber > 0 ? "takeover" : reason;
  }

  /** The hosts of the type are about to be known: until then the newest table stays. */
  hold(): void {
    this.#dirtySince = undefined;
  }

  /** Reports whether the newest table lists exactly the wanted hosts. */
  #agrees(): boolean {
    const { table } = this;
    if (table === undefined) return false;
    return (
      table.hosts.length === this.#wanted.size && table.hosts.every(({ incarnation }) => this.#wanted.has(incarnation))
    );
  }

  /**
   * Begins round `number` if there is a reason and no other round. `isNew`: the host has no table yet. A
   * round whose members are all new is over at once: no host holds an actor, and each host finds the table in
   * its snapshot.
   */
  begin(number: number, now: number, isNew: (incarnation: string) => boolean = () => false): TypeRequest[] {
    if (this.#closed || this.#round !== undefined || this.#dirtySince === undefined) return [];
    if (now < this.#dirtySince + this.#settings.coalesceMs) return [];
    this.#require(number > this.#lastRound, "a round has a higher number than the rounds before it");
    this.#lastRound = number;
    this.#dirtySince = undefined;
    const hosts = [...this.#wanted.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
    const version = { term: this.#term, number: ++this.#lastNumber };
    const table: TypeTable = {
      type: this.type,
      version,
      base: this.#base,
      hosts,
      sticky: this.sticky,
      shards: this.shards,
      ownShards: this.ownShards || undefined,
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

  /** Ignores an acknowledgement that does not fit the current phase: it is late or wrong. */
  acked(incarnation: string, operation: Operation, round: number, now: number): TypeRequest[] {
    const current = this.#round;
    if (current === undefined || current.number !== round) return [];
    if (operation !== (current.phase === "updating" ? "update" : "unlock")) return [];
    return current.waiting.delete(incarnation) ? this.#advance(now) : [];
  }

  /** The host holds nothing any more: it sent a goodbye, or its lease is over. */
  gone(incarnation: string, now: number): TypeRequest[] {
    this.#holders.delete(incarnation);
    this.#round?.members.delete(incarnation);
    return this.#round?.waiting.delete(incarnation) ? this.#advance(now) : [];
  }

  #advance(now: number): TypeRequest[] {
    const round = this.#round;
    if (round === undefined || round.waiting.size > 0) return [];
    if (round.phase === "updating") {
      this.#require(round.number === this.#lastRound, "only the newest round is unlocked");
      round.phase = "unlocking";
      const hosts = round.table.hosts.map(({ incarnation }) => incarnation);
      this.#holders = new Set(hosts.filter((incarnation) => round.members.has(incarnation)));
      round.waiting = round.isTrivial ? new Set() : new Set(round.members);
      Object.assign(round, this.#limits(now));
      return [{ kind: "unlock", round: round.number }, ...this.#advance(now)];
    }
    const newer = this.#finished === undefined || round.table.version.number > this.#finished.version.number;
    this.#require(newer, "a round ends with a newer table than the round before it");
    this.#finished = round.table;
    this.#base = round.table.version;
    this.#round = undefined;
    return [{ kind: "settled", tookMs: now - round.startedAt }];
  }

  #limits(now: number): Pick<Round, "lateAt" | "againAt"> {
    const { roundTimeoutMs } = this.#settings;
    return { lateAt: now + roundTimeoutMs, againAt: now + roundTimeoutMs / 2 };
  }

  tick(now: number): TypeRequest[] {
    const round = this.#round;
    if (round === undefined) return [];
    if (now < round.lateAt) {
      if (now < round.againAt) return [];
      round.againAt = Number.POSITIVE_INFINITY;
      return [{ kind: "again", incarnations: [...round.waiting] }];
    }
    // Reports late members once; from then on their leases decide.
    round.againAt = Number.POSITIVE_INFINITY;
    round.lateAt = Number.POSITIVE_INFINITY;
    return [{ kind: "late", incarnations: [...round.waiting] }];
  }

  /** The round in progress, for a host that has just (re)connected. */
  catchUp(): { readonly round: number; readonly table: TypeTable; readonly unlocked: boolean } | undefined {
    const round = this.#round;
    return round && { round: round.number, table: round.table, unlocked: round.phase === "unlocking" };
  }

  /** Reports whether the host may hold actors, by any table that this leader has sent. */
  mayHold(incarnation: string): boolean {
    return (
      this.#holders.has(incarnation) || this.#wanted.has(incarnation) || this.#round?.members.has(incarnation) === true
    );
  }

  /** Builds the text only when the rule is broken. */
  #require(isTrue: boolean, rule: string): void {
    if (!isTrue) invariant(false, `${rule}; ${this.describe()}`);
  }

  /** The state in short, for errors. */
  describe(): string {
    const { table, waitsFor } = this;
    const round = this.#round === undefined ? "" : ` of round ${this.#round.number}`;
    const hosts = table?.hosts.map(({ incarnation }) => incarnation) ?? [];
    const version = table === undefined ? "no table" : `table ${showVersion(table.version)} of [${hosts}]`;
    return `type ${this.type}: ${this.phase}${round}, ${version}, holders [${[...this.#holders]}], waits for [${[...waitsFor]}]`;
  }
}
