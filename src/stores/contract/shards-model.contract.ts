// Random stories against a model small enough to be obviously right: rules are settled and dropped, terms
// begin, homes are written by the right term and by wrong ones, actors are remembered and forgotten. The
// store must return the same results as the model.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { ShardRule } from "../../ports/store/shards.ts";
import { byBytes, Ground, newTerm, type ShardsHarness, type ShardsOptions } from "./shards-shared.contract.ts";

const TYPES = ["Cart", "\u{1f41a}"];
const SHARDS = 3;
const IDS = ["a", "b", "B", "\uff5e", "\u{1f41a}"];

const type = fc.constantFrom(...TYPES);
const shard = fc.nat(SHARDS - 1);
const id = fc.constantFrom(...IDS);
const change = fc.record({ type, shard, host: fc.option(fc.constantFrom("h1", "h2"), { nil: undefined }) });
const memory = fc.record({ type, shard, id, isKept: fc.boolean() });
const step = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("settle" as const), type, shards: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reset" as const), type }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("term" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("note" as const),
      behind: fc.constantFrom(0, 0, 0, 1, -1),
      changes: fc.array(change, { maxLength: 8 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("remember" as const),
      by: fc.constantFrom(undefined, "h1", "h2"),
      changes: fc.array(memory, { maxLength: 8 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("homes" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("read" as const),
      type,
      shard,
      after: fc.option(id, { nil: undefined }),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class Story {
  readonly #it: Ground;
  readonly #rules = new Map<string, ShardRule>();
  /** By type and shard, and then by id: the keys of the model are texts. */
  readonly #homes = new Map<string, string>();
  readonly #kept = new Set<string>();
  #term = 0;

  constructor(it: Ground) {
    this.#it = it;
  }

  async begin(): Promise<void> {
    this.#term = await newTerm(this.#it.store);
  }

  async take(step: Step): Promise<void> {
    const it = this.#it;
    switch (step.kind) {
      case "settle": {
        const rule = it.rule(step.shards, `of ${step.shards}`, step.type);
        const settled = this.#rules.get(step.type) ?? rule;
        this.#rules.set(step.type, settled);
        return assert.deepEqual(await it.shards.settle(rule), settled);
      }
      case "reset":
        this.#rules.delete(step.type);
        for (const all of [this.#homes, this.#kept]) {
          for (const key of [...all.keys()]) if (JSON.parse(key)[0] === step.type) all.delete(key);
        }
        await it.shards.reset(it.namespace, step.type);
        return;
      case "term":
        return this.begin();
      case "note": {
        const isCurrent = step.behind === 0;
        const changes = step.changes.map(({ type, shard, host }) => it.home(shard, host, type));
        assert.equal(await it.shards.noteHomes(this.#term - step.behind, changes), isCurrent);
        if (!isCurrent) return;
        for (const { type, shard, incarnation } of changes) {
          if (incarnation === undefined) this.#homes.delete(JSON.stringify([type, shard]));
          else this.#homes.set(JSON.stringify([type, shard]), incarnation);
        }
        return;
      }
      case "remember":
        return this.#remember(step.by, step.changes);
      case "homes":
        return this.#compareHomes();
      case "read":
        return this.#compareIds(step.type, step.shard, step.after, step.limit);
    }
  }

  async #remember(by: string | undefined, changes: Extract<Step, { kind: "remember" }>["changes"]): Promise<void> {
    const { namespace, shards } = this.#it;
    const made = changes.map(({ type, shard, id, isKept }) => {
      if (by !== undefined && this.#homes.get(JSON.stringify([type, shard])) !== by) return false;
      if (isKept) this.#kept.add(JSON.stringify([type, shard, id]));
      else this.#kept.delete(JSON.stringify([type, shard, id]));
      return true;
    });
    const outcome = await shards.remember(
      by,
      changes.map((one) => ({ namespace, ...one })),
    );
    assert.deepEqual(outcome, made);
  }

  async end(): Promise<void> {
    await this.#compareHomes();
    for (const type of TYPES) {
      for (let shard = 0; shard < SHARDS; shard++) await this.#compareIds(type, shard, undefined, 100);
      const all = Array.from({ length: SHARDS }, (_, shard) => shard);
      const some = all.filter((shard) => IDS.some((id) => this.#kept.has(JSON.stringify([type, shard, id]))));
      assert.deepEqual(await this.#it.shards.rememberedShards(this.#it.namespace, type), some);
    }
  }

  async #compareHomes(): Promise<void> {
    const expected = TYPES.flatMap((type) =>
      Array.from({ length: SHARDS }, (_, shard) =>
        this.#it.home(shard, this.#homes.get(JSON.stringify([type, shard])), type),
      ),
    );
    assert.deepEqual(
      await this.#it.homes(),
      expected.filter(({ incarnation }) => incarnation !== undefined),
    );
  }

  async #compareIds(type: string, shard: number, after: string | undefined, limit: number): Promise<void> {
    const expected = IDS.filter((id) => this.#kept.has(JSON.stringify([type, shard, id])))
      .filter((id) => after === undefined || byBytes(id, after) > 0)
      .sort(byBytes)
      .slice(0, limit);
    assert.deepEqual(await this.#it.shards.remembered(this.#it.shard(shard, type), after, limit), expected);
  }
}

export function shardModelContract({ opened }: ShardsHarness, options: ShardsOptions): void {
  describe("model of shards", () => {
    test("any story of shards goes as the model predicts", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
          const story = new Story(new Ground(opened().store));
          await story.begin();
          for (const one of steps) await story.take(one);
          await story.end();
        }),
        { numRuns: options.modelRuns ?? 100 },
      );
    });
  });
}
