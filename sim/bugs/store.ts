// Bugs between a turn and its stored effects: writes that are lost, counted twice, or accepted although they
// must be rejected.
import type { Bug } from "./bug.ts";

const FENCE = `if (row.epoch !== epoch || row.version !== version) return "fenced";`;
const OURS = "our own rejected design";

export const STORE: readonly Bug[] = [
  {
    name: "unfenced-commit",
    family: "store",
    story:
      "Every commit is written, whichever host holds the actor by now. A commit that was delayed, sent again or slept through the end of a lease erases acknowledged writes of the new owner: lost writes, and commits of an older epoch.",
    knownFrom: "Dapr #9958",
    changes: [{ file: "src/stores/memory/memory-store.ts", before: FENCE, after: "" }],
  },
  {
    name: "unfenced-clear",
    family: "store",
    story:
      "Commits are fenced, but clearing the state is not. A late clear removes the writes of the new owner: acknowledged writes are lost.",
    knownFrom: "Temporal #12016",
    guard: "src/stores/contract/fence.contract.ts",
    changes: [
      {
        file: "src/stores/memory/memory-store.ts",
        before: FENCE,
        after: `if (write.kind !== "clear" && (row.epoch !== epoch || row.version !== version)) return "fenced";`,
      },
    ],
  },
  {
    name: "fenced-by-version-only",
    family: "store",
    story:
      "A commit is accepted when its version fits, whatever its epoch. The previous holder of an actor can commit after it was taken, as long as the new owner has not: a commit of an older epoch, and the new owner answers from a state that is out of date.",
    knownFrom: OURS,
    guard: "src/stores/contract/fence.contract.ts",
    changes: [
      {
        file: "src/stores/memory/memory-store.ts",
        before: FENCE,
        after: `if (row.version !== version) return "fenced";`,
      },
    ],
  },
  {
    name: "neither-fenced-nor-checked",
    family: "store",
    story:
      "A host does not check its lease before it commits, and the store does not check the holder of the actor. A process that was paused in the middle of a turn overwrites acknowledged writes of others.",
    knownFrom: OURS,
    changes: [
      { file: "src/stores/memory/memory-store.ts", before: FENCE, after: "" },
      {
        file: "src/actors/activation/incarnation.ts",
        before: "return this.isOver || this.deps.routing.mayCommit();",
        after: "return true;",
      },
      {
        file: "src/actors/activation/incarnation.ts",
        before: "if (!this.deps.routing.mayCommit()) {",
        after: "if (this.isOver && !this.deps.routing.mayCommit()) {",
      },
    ],
  },
  {
    name: "epochs-start-again",
    family: "store",
    story:
      "Epochs count the takes of a row, so a new row begins at 1. A database that is restored from an earlier point assigns the same rows and epochs again. A process that goes on then commits one actor's state into another actor's row.",
    knownFrom: "ourselves",
    changes: [
      {
        file: "src/stores/memory/memory-store.ts",
        before: "row.epoch = this.#nextEpoch(row.epoch);",
        after: "row.epoch++;",
      },
    ],
  },
  {
    name: "take-after-read",
    family: "store",
    story:
      "An activation reads its state first and takes the actor afterwards. Commits of the previous owner in between are not seen, and erased by the next commit: an acknowledged write is lost.",
    knownFrom: OURS,
    guard: "src/stores/contract/listing.contract.ts",
    changes: [
      {
        file: "src/stores/memory/memory-store.ts",
        before: "return row && summary(row);",
        after: "return row && { ...summary(row), state: stateOf(row) };",
      },
      {
        file: "src/actors/store-gateway.ts",
        before: "send: (batch) => store.take(batch),",
        after: `send: async (batch) => {
        const read = await Promise.all(batch.map((key) => store.find(key)));
        const taken = await store.take(batch);
        return taken.map((one, at) => one === "locked" ? one : { ...one, state: read[at]?.state });
      },`,
      },
    ],
  },
  {
    name: "lost-answer-taken-for-failure",
    family: "store",
    story:
      "A commit whose response was lost is not recognized by its id, and its ambiguity is not recorded. Its caller gets FENCED, a definite failure, although the commit was applied: a rejected call that has an effect.",
    knownFrom: "actor-ts #142",
    changes: [
      {
        file: "src/stores/memory/memory-store.ts",
        before: `if (row.commitId === id) return "committed";`,
        after: "",
      },
      {
        file: "src/actors/store-gateway.ts",
        before: `resolveAmbiguous: (outcome) => (outcome === "fenced" ? takenOver() : outcome),`,
        after: "",
      },
    ],
  },
  {
    name: "ambiguity-is-forgotten",
    family: "store",
    story:
      "A retry drops the information that an earlier attempt at a commit may have been applied. When the store stays away, or another host takes the actor, the caller gets a definite failure, although the commit was applied.",
    knownFrom: "actor-ts #142",
    guard: "src/kernel/batch/fenced-batcher.test.ts",
    changes: [
      {
        file: "src/kernel/batch/fenced-batcher.ts",
        before: "for (const member of batch) member.isAmbiguous ||= isUnknown;",
        after: "",
      },
    ],
  },
  {
    name: "unknown-commit-is-run-again",
    family: "store",
    story:
      "Every attempt at a commit has its own id, and a turn with an ambiguous commit is run again. If the first attempt had been applied, one call is applied twice.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/actors/store-gateway.ts",
        before: "send: (batch) => store.commit(batch),",
        after: `send: (batch) =>
        store.commit(batch.map((commit) => ({ ...commit, id: commit.id + "." + ++this.#commitCount }))),`,
      },
      {
        file: "src/actors/activation/incarnation.ts",
        before: `turn.fail(error);
    if (!this.isOver) this.activation.end(reason, this.deps.clock.monotonic() - turn.startedAt);`,
        after: `const isUnknown = error instanceof LimpetError && error.code === "COMMIT_UNKNOWN";
    const again = isUnknown && turn.work === undefined && turn.cancelled === undefined;
    if (!again) turn.fail(error);
    if (!this.isOver) this.activation.end(reason, this.deps.clock.monotonic() - turn.startedAt);
    if (!again) return;
    turn.phase = "queued";
    turn.activation = undefined;
    turn.holder = undefined;
    this.deps.routing.reroute(turn);`,
      },
    ],
  },
  {
    name: "reply-before-commit",
    family: "store",
    story:
      "A turn is answered when its commit has been sent. If the process ends, loses the actor or cannot reach the store, an acknowledged write is lost.",
    knownFrom: "Akka.Management #3402",
    changes: [
      {
        file: "src/actors/activation/incarnation.ts",
        before: `turn.phase = "committing";
    // A handled reminder`,
        after: `turn.succeed(reply);
    turn.phase = "committing";
    // A handled reminder`,
      },
    ],
  },
  {
    name: "failed-turn-leaves-its-changes",
    family: "store",
    story:
      "Changes of a turn to the state stay in memory after it throws, and are stored with the next turn: a call that failed has an effect.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/actors/state/state-buffer.ts",
        before: "const restored = this.rollback(0);",
        after: "const restored = true;",
      },
    ],
  },
  {
    name: "taken-again-after-the-lease",
    family: "store",
    story:
      "A host sleeps while it takes an actor, and its lease ends. When it resumes it repeats the take, because no response came in time: the activation on the present owner is fenced, and a call there fails without a reason.",
    knownFrom: "ourselves",
    guard: "src/actors/lost-takes.test.ts",
    changes: [
      {
        file: "src/actors/catalog.ts",
        before: "this.store.giveUpTakes();\n    const all = [...this.#all()];",
        after: "const all = [...this.#all()];",
      },
    ],
  },
  {
    name: "fenced-member-gets-the-first-outcome",
    family: "store",
    story:
      "A commit that is fenced in a batch with others gets the outcome of the first of them. Its caller gets a success, and the commit is lost.",
    knownFrom: "a mutation that no unit test noticed",
    guard: "src/kernel/batch/fenced-batcher.test.ts",
    changes: [
      {
        file: "src/kernel/batch/fenced-batcher.ts",
        before: "this.#answer(batch[i]!, answers[i]);",
        after: `this.#answer(batch[i]!, (answers[i] as unknown) === "fenced" ? answers[0] : answers[i]);`,
      },
    ],
  },
];
