// Shards in PostgreSQL. Each step is one statement and idempotent; only forgetting a whole type takes
// several. Writes of homes run one after the other, and so do writes of remembered actors: each kind takes at
// most one connection of the store.
import { invariant } from "../../../kernel/errors.ts";
import type {
  RememberedChange,
  ShardHomeChange,
  ShardHomeRow,
  ShardKey,
  ShardRule,
  Shards,
} from "../../../ports/store/shards.ts";
import { isHosted, lastOfActors, lastOfShards } from "../../shard-changes.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Row, Runner, Statement } from "../connection/connections.ts";
import { whileHeld } from "../connection/while-held.ts";
import {
  dropRule,
  forgetSome,
  lockLeadership,
  noteHomes,
  readHomes,
  readHosting,
  readRemembered,
  readRememberedShards,
  readRuleStatement,
  remember,
  settleRule,
} from "./steps.ts";

/** Actors that one of the statements for a whole type deletes. */
const RESET_ROWS = 10_000;

export class PostgresShards implements Shards {
  readonly #connections: Connections;
  readonly #heldMs: number;
  readonly #statements;
  /** Settle when the last write of their kind has settled. */
  #persisted: Promise<unknown> = Promise.resolve();
  #remembered: Promise<unknown> = Promise.resolve();

  constructor(connections: Connections, schema: string, heldMs: number) {
    this.#connections = connections;
    this.#heldMs = heldMs;
    this.#statements = {
      readRule: readRuleStatement(schema),
      settleRule: settleRule(schema),
      dropRule: dropRule(schema),
      readHomes: readHomes(schema),
      noteHomes: noteHomes(schema),
      remember: remember(schema),
      readRemembered: readRemembered(schema),
      readRememberedShards: readRememberedShards(schema),
      forgetSome: forgetSome(schema),
      lockLeadership: lockLeadership(schema),
      readHosting: readHosting(schema),
    };
  }

  settle({ namespace, type, shards, version }: ShardRule): Promise<ShardRule> {
    const { readRule, settleRule } = this.#statements;
    return this.#connections.during(async () => {
      // Nearly always the rule is settled: every host asks whenever it starts, and need not write for that.
      const [found] = await this.#run(readRule, [namespace, type]);
      const settled = found ?? only(await this.#run(settleRule, [namespace, type, shards, version]));
      const [count, as] = settled as [number, string];
      return { namespace, type, shards: count, version: as };
    });
  }

  reset(namespace: string, type: string, ended: readonly string[] = []): Promise<boolean> {
    const { forgetSome, dropRule } = this.#statements;
    const unhosted = (work: (runner: Runner) => Promise<void>) => this.#unlessHosted(namespace, type, ended, work);
    return this.#connections.during(async () => {
      for (let count = RESET_ROWS; count === RESET_ROWS; ) {
        const isDone = await unhosted(async (runner) => {
          const rows = await runner.run(forgetSome, [namespace, type, RESET_ROWS], "harmless");
          [count] = only(rows) as [number];
        });
        if (!isDone) return false;
      }
      return unhosted(async (runner) => {
        await runner.run(dropRule, [namespace, type], "harmless");
      });
    });
  }

  /**
   * Runs `work` in one transaction with the check that no member hosts the type. Every write of members or
   * homes locks the row of leadership first, so none happens between the check and the end. The members are
   * read after the lock, so they are current.
   */
  #unlessHosted(
    namespace: string,
    type: string,
    ended: readonly string[],
    work: (runner: Runner) => Promise<void>,
  ): Promise<boolean> {
    const { lockLeadership, readHosting } = this.#statements;
    return whileHeld(this.#heldMs, () =>
      this.#connections.transaction(async (runner) => {
        await runner.run(lockLeadership, [], "harmless");
        const rows = (await runner.run(readHosting, [namespace], "harmless")) as unknown as [string, string][];
        const members = rows.map(([incarnation, types]) => {
          return { namespace, incarnation, types: JSON.parse(types) as string[] };
        });
        if (isHosted(members, namespace, type, ended)) return false;
        await work(runner);
        return true;
      }),
    );
  }

  async homes(): Promise<ShardHomeRow[]> {
    const rows = await this.#connections.during(() => this.#run(this.#statements.readHomes, []));
    return (rows as unknown as [string, string, number, string][]).map(([namespace, type, shard, incarnation]) => {
      return { namespace, type, shard, incarnation };
    });
  }

  async noteHomes(term: number, changes: readonly ShardHomeChange[]): Promise<boolean> {
    const last = lastOfShards(changes);
    const values = [term, ...keysOf(last), texts(last.map(({ incarnation }) => incarnation))];
    const persisting = this.#connections.during(() => {
      const run = () => this.#run(this.#statements.noteHomes, values);
      const persisted = this.#persisted.then(run, run);
      this.#persisted = persisted;
      return persisted;
    });
    return only(await persisting)[0] as boolean;
  }

  async remember(home: string | undefined, changes: readonly RememberedChange[]): Promise<boolean[]> {
    const last = lastOfActors(changes);
    const shards = new DistinctShards(last);
    const values = [true, false].flatMap((isKept) => {
      const some = last.filter((change) => change.isKept === isKept);
      const places = bigints(some.map((change) => shards.placeOf(change)));
      return [places, ...keysOf(some), texts(some.map(({ id }) => id))];
    });
    const remembering = this.#connections.during(() => {
      const run = () => this.#run(this.#statements.remember, [home ?? null, ...keysOf(shards.all), ...values]);
      const remembered = this.#remembered.then(run, run);
      this.#remembered = remembered;
      return remembered;
    });
    const held = new Set((await remembering).map(([place]) => place as number));
    return changes.map((change) => held.has(shards.placeOf(change)));
  }

  async remembered({ namespace, type, shard }: ShardKey, after: string | undefined, limit: number): Promise<string[]> {
    const values = [namespace, type, shard, after ?? "", limit];
    const rows = await this.#connections.during(() => this.#run(this.#statements.readRemembered, values));
    return (rows as unknown as [string][]).map(([id]) => id);
  }

  async rememberedShards(namespace: string, type: string): Promise<number[]> {
    const { readRememberedShards } = this.#statements;
    const rows = await this.#connections.during(() => this.#run(readRememberedShards, [namespace, type]));
    return (rows as unknown as [number][]).map(([shard]) => shard);
  }

  /** Retries while another transaction holds the leadership or one of the rows; it ends in a moment. */
  #run(statement: Statement, values: unknown[]): Promise<Row[]> {
    return whileHeld(this.#heldMs, () => this.#connections.run(statement, values, "harmless"));
  }
}

/** Each shard once, in the order in which they come; the first has place 1. */
class DistinctShards {
  readonly all: ShardKey[] = [];
  readonly #places = new Map<string, number>();

  constructor(keys: readonly ShardKey[]) {
    for (const key of keys) {
      const { size } = this.#places;
      if (this.placeOf(key) === size + 1) this.all.push(key);
    }
  }

  placeOf({ namespace, type, shard }: ShardKey): number {
    const name = JSON.stringify([namespace, type, shard]);
    const place = this.#places.get(name) ?? this.#places.size + 1;
    this.#places.set(name, place);
    return place;
  }
}

const keysOf = (keys: readonly ShardKey[]): Buffer[] => [
  texts(keys.map(({ namespace }) => namespace)),
  texts(keys.map(({ type }) => type)),
  bigints(keys.map(({ shard }) => shard)),
];

function only(rows: readonly Row[]): Row {
  const [row] = rows;
  invariant(row !== undefined, "a step of shards answers with one row");
  return row;
}
