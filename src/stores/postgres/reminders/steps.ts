// Settles and renews reminders in batches. Items of the same kind share one statement. It waits briefly for a
// row that another transaction holds, and then leaves it out, so that it does not delay the others.
import { setTimeout as pause } from "node:timers/promises";
import { invariant } from "../../../kernel/errors.ts";
import {
  NOTIFY_AHEAD_MS,
  type ReminderLease,
  type Rewriting,
  type Settlement,
} from "../../../ports/store/reminders.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Statement } from "../connection/connections.ts";
import { asAmbiguous, StoreFault } from "../connection/faults.ts";
import { isLocked } from "../connection/while-held.ts";
import { type Manner, readHeld, type SettlementKind, settleReminders } from "./settlements.ts";

type Next = Extract<Settlement, { kind: "next" }>;
type Rewritten = Next & { readonly data: string };
type Dead = Extract<Settlement, { kind: "dead" }>;
type AnswerRow = [count: number, generations: string[] | null, freeIn: string[] | null];
type HeldRow = [generation: number, number: number, attempt: number];

/** Settlements, or generations to renew, that share one statement. */
interface Step {
  readonly kind: SettlementKind;
  /** In order. */
  items: readonly Item[];
  /** For `renew`. */
  readonly leaseMs?: number;
}

interface Item {
  readonly generation: number;
  readonly token: string;
  readonly settlement?: Settlement;
}

export interface Settled {
  readonly counted: boolean[];
  /** Namespaces with a row that may be claimed now. */
  readonly freeIn: ReadonlySet<string>;
}

export class ReminderSteps {
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #heldMs: number;
  readonly #statements = new Map<string, Statement>();
  readonly #readHeld: Statement;

  /** `heldMs`: how long rows that other transactions hold are retried. */
  constructor(connections: Connections, schema: string, heldMs: number) {
    this.#connections = connections;
    this.#schema = schema;
    this.#heldMs = heldMs;
    this.#readHeld = readHeld(schema);
  }

  settle(batch: readonly Settlement[]): Promise<Settled> {
    return this.#takeAll(batch, stepsOf(batch));
  }

  rewrite(batch: readonly Rewriting[]): Promise<Settled> {
    const items = batch.map((one): Item => {
      const { generation, token } = one;
      const settlement: Rewritten = { kind: "next", ...one };
      return { generation, token, settlement };
    });
    items.sort((a, b) => a.generation - b.generation);
    return this.#takeAll(batch, [{ kind: "rewrite", items }]);
  }

  async #takeAll(batch: readonly Pick<Item, "generation">[], steps: readonly Step[]): Promise<Settled> {
    const counted = new Set<number>();
    const freeIn = new Set<string>();
    // The steps are independent, and each commits on its own.
    const ends = await Promise.allSettled(steps.map((step) => this.#take(step, counted, freeIn)));
    const failed = ends.find((end) => end.status === "rejected");
    if (failed !== undefined) throw counted.size > 0 ? asAmbiguous(failed.reason) : failed.reason;
    for (const end of ends) {
      const held = end.status === "fulfilled" ? end.value : [];
      if (held.length > 0) throw counted.size > 0 ? asAmbiguous(stillHeld()) : stillHeld();
    }
    return { counted: batch.map(({ generation }) => counted.has(generation)), freeIn };
  }

  /** A row that another transaction holds all the time is not renewed, so its lease ends. */
  async renew(claims: readonly ReminderLease[], leaseMs: number): Promise<number[]> {
    const byGeneration = new Map(claims.map(({ generation, token }) => [generation, { generation, token }]));
    const items = [...byGeneration.values()].sort((a, b) => a.generation - b.generation);
    const renewed = new Set<number>();
    await this.#take({ kind: "renew", items, leaseMs }, renewed, new Set());
    return claims.map(({ generation }) => generation).filter((generation) => !renewed.has(generation));
  }

  /** Adds the generations that counted to `counted`. Returns the items whose rows other transactions hold. */
  async #take(step: Step, counted: Set<number>, freeIn: Set<string>): Promise<readonly Item[]> {
    try {
      await this.#run(step, "patient", counted, freeIn);
      return [];
    } catch (error) {
      // A statement that timed out on a row has changed nothing.
      if (!isLocked(error)) throw error;
    }
    const deadline = performance.now() + this.#heldMs;
    for (;;) {
      await this.#run(step, "free", counted, freeIn);
      step.items = await this.#stillOurs(step, counted);
      if (step.items.length === 0 || performance.now() > deadline) return step.items;
      await pause(5 + Math.random() * 20);
    }
  }

  async #run(step: Step, manner: Manner, counted: Set<number>, freeIn: Set<string>): Promise<void> {
    const { kind, items } = step;
    if (items.length === 0) return;
    const [row] = await this.#connections.run(this.#statement(kind, manner), valuesOf(step), "doubtful");
    const [count, generations, free] = row as unknown as AnswerRow;
    if (count === items.length) for (const { generation } of items) counted.add(generation);
    else for (const generation of generations ?? []) counted.add(Number(generation));
    for (const namespace of free ?? []) freeIn.add(namespace);
  }

  /** The items that were left out although they still own their rows. */
  async #stillOurs({ items }: Step, counted: ReadonlySet<number>): Promise<readonly Item[]> {
    const left = items.filter(({ generation }) => !counted.has(generation));
    if (left.length === 0) return left;
    const values = holdersOf(left);
    const rows = (await this.#connections.run(this.#readHeld, values, "harmless")) as unknown as HeldRow[];
    const held = new Map(rows.map((row) => [row[0], row]));
    return left.filter(({ generation, settlement }) => {
      const row = held.get(generation);
      if (row === undefined || settlement?.kind !== "next") return row !== undefined;
      const { number, attempt } = settlement.tick;
      return number > row[1] || (number === row[1] && attempt >= row[2]);
    });
  }

  #statement(kind: SettlementKind, manner: Manner): Statement {
    const name = `${kind} ${manner}`;
    const statement = this.#statements.get(name) ?? settleReminders(this.#schema, kind, manner);
    this.#statements.set(name, statement);
    return statement;
  }
}

function stepsOf(batch: readonly Settlement[]): Step[] {
  const groups = new Map<SettlementKind, { kind: SettlementKind; items: (Item & { settlement: Settlement })[] }>();
  for (const settlement of batch) {
    const { kind, token, generation } = settlement;
    const group = groups.get(kind) ?? { kind, items: [] };
    group.items.push({ generation, token, settlement });
    groups.set(kind, group);
  }
  const seen = new Set(batch.map(({ generation }) => generation));
  invariant(seen.size === batch.length, "no generation is twice in one batch");
  const steps = [...groups.values()];
  for (const { items } of steps) items.sort((a, b) => a.generation - b.generation);
  return steps;
}

/** Generations and their tokens. */
function holdersOf(items: readonly Item[]): unknown[] {
  const tokens = [...new Set(items.map(({ token }) => token))];
  const places = new Map(tokens.map((token, i) => [token, i + 1]));
  return [
    bigints(items.map(({ generation }) => generation)),
    texts(tokens),
    bigints(items.map(({ token }) => places.get(token)!)),
  ];
}

function valuesOf({ kind, items, leaseMs }: Step): unknown[] {
  const values = holdersOf(items);
  if (kind === "renew") return [...values, leaseMs];
  if (kind !== "next" && kind !== "rewrite" && kind !== "dead") return values;
  const ends = items.map(({ settlement }) => settlement as Next | Dead);
  values.push(
    bigints(ends.map(({ tick }) => tick.at)),
    bigints(ends.map(({ tick }) => tick.due)),
    bigints(ends.map(({ tick }) => tick.number)),
    bigints(ends.map(({ tick }) => tick.attempt)),
  );
  if (kind === "dead") return [...values, texts(ends.map((end) => (end as Dead).error))];
  values.push(bigints(ends.map((end) => (end as Next).leaseMs ?? -1)), NOTIFY_AHEAD_MS);
  if (kind === "rewrite") values.push(texts(ends.map((end) => (end as Rewritten).data)));
  return values;
}

const stillHeld = () => new StoreFault("STORE_UNAVAILABLE", "locked", "another transaction holds a reminder");
