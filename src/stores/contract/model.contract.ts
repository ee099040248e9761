// Random stories against a model small enough to be obviously right: several holders take, commit, clear,
// change and repeat themselves on a few actors. The store must return the same results as the model.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Commit, CommitOutcome, StateWrite, StoredState, Taken } from "../../ports/store/store.ts";
import {
  actor,
  type ContractOptions,
  clear,
  commitOf,
  freshNamespace,
  type Harness,
  keep,
  take,
} from "./shared.contract.ts";

interface Row {
  epoch: number;
  version: number;
  commit: string | undefined;
  state: StoredState | undefined;
}

/** The knowledge of a holder: it sees only its own results. */
interface CachedOwner {
  held: Taken;
  ahead: number;
  hasState: boolean;
  last: Commit | undefined;
}

function expected(row: Row, commit: Commit): CommitOutcome {
  if (row.commit === commit.id) return "committed";
  if (row.epoch !== commit.epoch || row.version !== commit.version) return "fenced";
  row.version++;
  row.commit = commit.id;
  row.state = apply(row.state, commit.write);
  return "committed";
}

function apply(state: StoredState | undefined, write: StateWrite): StoredState | undefined {
  if (write.kind === "clear") return undefined;
  if (write.kind === "keep") return state;
  if (write.kind === "whole") return { whole: write.data, changes: [] };
  assert.ok(state !== undefined);
  return { whole: state.whole, changes: [...state.changes, write.data] };
}

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 20 }).filter((s) => !s.includes("\0")),
  fc.integer({ min: 1_000, max: 4_000 }).map((n) => "x".repeat(n)),
);
const step = fc.record({
  actor: fc.nat(2),
  holder: fc.nat(2),
  act: fc.oneof(
    { weight: 2, arbitrary: fc.constant({ kind: "take" as const }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("whole" as const), data: text }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("change" as const), data: text }) },
    { weight: 1, arbitrary: fc.constant({ kind: "clear" as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: "keep" as const }) },
    { weight: 2, arbitrary: fc.constant({ kind: "repeat" as const }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("skewed" as const), by: fc.constantFrom(-1, 1, 2) }) },
  ),
});

export function modelContract({ store }: Harness, options: ContractOptions): void {
  describe("model of actors", () => {
    test("any story of holders ends as the model predicts", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
          const namespace = freshNamespace();
          const rows = new Map<number, Row>();
          const cachedOwners = new Map<string, CachedOwner>();
          for (const { actor: who, holder, act } of steps) {
            const name = `${who}/${holder}`;
            const key = actor(`${who}`, namespace);
            const cached = cachedOwners.get(name);
            if (act.kind === "take" || cached === undefined) {
              const held = await take(store(), key, name);
              const row = rows.get(who) ?? { epoch: 0, version: 0, commit: undefined, state: undefined };
              assert.ok(held.epoch > row.epoch);
              assert.equal(held.version, row.version);
              assert.deepEqual(held.state, row.state);
              row.epoch = held.epoch;
              rows.set(who, row);
              cachedOwners.set(name, { held, ahead: 0, hasState: held.state !== undefined, last: undefined });
              continue;
            }
            const commit = commitFor(cached, act);
            if (commit === undefined) continue;
            const outcome = expected(rows.get(who)!, commit);
            assert.deepEqual(await store().commit([commit]), [outcome], `${name} ${act.kind}`);
            if (outcome === "committed" && commit !== cached.last) {
              cached.ahead = commit.version + 1 - cached.held.version;
              if (commit.write.kind !== "keep") cached.hasState = commit.write.kind !== "clear";
              cached.last = commit;
            }
          }
          for (const [who, row] of rows) {
            const held = await take(store(), actor(`${who}`, namespace));
            assert.deepEqual([held.version, held.state], [row.version, row.state]);
          }
        }),
        { numRuns: options.modelRuns ?? 100 },
      );
    });
  });
}

function commitFor(cached: CachedOwner, act: { kind: string; data?: string; by?: number }): Commit | undefined {
  const { held, ahead, hasState, last } = cached;
  if (act.kind === "repeat") return last;
  if (act.kind === "clear") return commitOf(held, clear, ahead);
  if (act.kind === "keep") return commitOf(held, keep, ahead);
  if (act.kind === "skewed") return commitOf(held, clear, ahead + (act.by ?? 1));
  // A change needs a state; a holder without one writes a whole state.
  const kind = act.kind === "change" && hasState ? "change" : "whole";
  return commitOf(held, { kind, data: act.data ?? "" }, ahead);
}
