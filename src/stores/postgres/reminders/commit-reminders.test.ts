// Commits that touch the same reminder do not share a statement.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Commit } from "../../../ports/store/store.ts";
import { cancelOf, setOf } from "../../contract/reminders-shared.contract.ts";
import { bringsReminders, commitRounds } from "./commit-reminders.ts";

const key = (name: string, id = "alice") => ({ namespace: "n", type: "T", id, name });

function commit(ref: number, touched: Pick<Commit, "settle" | "reminders"> = {}): { commit: Commit } {
  return { commit: { ref, epoch: 1, version: 0, id: `${ref}`, write: { kind: "keep" }, ...touched } };
}

const refs = (rounds: { commit: Commit }[][]) => rounds.map((round) => round.map((one) => one.commit.ref));

describe("rounds of commits with reminders", () => {
  test("commits that share no reminder are one round", () => {
    const batch = [
      commit(1, { reminders: [setOf(key("a")), cancelOf(key("b"))] }),
      commit(2, { reminders: [setOf(key("a", "bob"))], settle: [{ kind: "done", generation: 7, token: "t" }] }),
      commit(3),
      commit(4, { settle: [{ kind: "release", generation: 8, token: "t" }] }),
    ];
    assert.deepEqual(refs(commitRounds(batch)), [[1, 2, 3, 4]]);
  });

  test("only a commit that sets, cancels or settles the reminder of another commit goes into a later round", () => {
    const batch = [
      commit(1, { reminders: [setOf(key("a"))] }),
      commit(2, { reminders: [cancelOf(key("a"))] }),
      commit(3, { reminders: [setOf(key("b"))] }),
      commit(4, { reminders: [setOf(key("b")), setOf(key("a"))] }),
      commit(5, { settle: [{ kind: "done", generation: 7, token: "t" }] }),
      commit(6, { settle: [{ kind: "done", generation: 7, token: "other" }] }),
    ];
    assert.deepEqual(refs(commitRounds(batch)), [[1, 3, 5], [2, 6], [4]]);
  });

  test("keys that differ only in how their words are split are different", () => {
    const batch = [
      commit(1, { reminders: [setOf({ namespace: "n", type: "T", id: "ab", name: "c" })] }),
      commit(2, { reminders: [setOf({ namespace: "n", type: "T", id: "a", name: "bc" })] }),
    ];
    assert.deepEqual(refs(commitRounds(batch)), [[1, 2]]);
  });

  test("a commit hasAttached reminders only if it settles or writes at least one", () => {
    assert.equal(bringsReminders(commit(1).commit), false);
    assert.equal(bringsReminders(commit(1, { settle: [], reminders: [] }).commit), false);
    assert.equal(bringsReminders(commit(1, { reminders: [cancelOf(key("a"))] }).commit), true);
    assert.equal(bringsReminders(commit(1, { settle: [{ kind: "release", generation: 1, token: "t" }] }).commit), true);
  });
});
