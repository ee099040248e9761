// Bugs in the delivery of calls: a call is delivered twice, never, or at the same time as another one.
import type { Bug } from "./bug.ts";

const OURS = "our own rejected design";

export const CALLS: readonly Bug[] = [
  {
    name: "lost-answer-sends-again",
    family: "calls",
    story:
      "A call whose connection broke before its answer is sent again. If it had run, it is applied twice, and its caller knows of one.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/actors/routing/outbound-call.ts",
        before: `lost(error: LimpetError): void {
    if (!this.#end()) return;
    this.#turn.fail(error);`,
        after: `lost(error: LimpetError): void {
    if (!this.#end()) return;
    this.#dispatcher.unsent(this.#turn, error);`,
      },
    ],
  },
  {
    name: "silent-call-is-sent-twice",
    family: "calls",
    story:
      "A call to another host that has no answer after 100 ms is sent once more. Both are run: one call is applied twice whenever a turn, a commit or the network takes that long.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/actors/routing/cluster-routing.ts",
        before: "new OutboundCall(turn, to, isWorthCaching, this);",
        after: `const departure = new OutboundCall(turn, to, isWorthCaching, this);
    this.#clock.after(100, () => {
      if (turn.holder === departure) this.links.call(to, this.describe(turn), departure);
    });`,
      },
    ],
  },
  {
    name: "turns-enter-each-other",
    family: "calls",
    story:
      "A call to an actor that is busy runs inside the running turn, as if the actor were reentrant. Turns of one actor overlap, changes made between two awaits are lost, and the inner one is answered before anything is committed.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/actors/activation/activation.ts",
        before: "if (turn.parent !== undefined) {",
        after: `if (turn.parent !== undefined || (this.phase === "active" && this.running?.phase === "running")) {`,
      },
      {
        file: "src/actors/activation/reentry.ts",
        before: `if (cause === undefined) return "queue";`,
        after: `if (cause === undefined) return running?.phase === "running" ? "enter" : "queue";`,
      },
    ],
  },
  {
    name: "call-lost-while-its-actor-leaves",
    family: "calls",
    story:
      "Calls that wait for an ending activation are dropped with it. Such a call never runs, and gets no answer before its timeout.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/actors/activation/activation.ts",
        before: `if (this.waiting > 0) void this.#activate();
    else this.#deps.gone(this, reason);`,
        after: "this.#deps.gone(this, reason);",
      },
    ],
  },
  {
    name: "handed-back-with-its-neighbours",
    family: "calls",
    story:
      "A call that is returned from a mailbox and enters another one brings along the call behind it. That call runs although its caller got a definite failure, or has sent it elsewhere: it is applied against its answer, or twice.",
    knownFrom: "ourselves",
    guard: "src/actors/activation/mailbox.test.ts",
    changes: [
      {
        file: "src/actors/activation/mailbox.ts",
        before: "for (let turn = this.shift(); turn !== undefined; turn = this.shift()) turns.push(turn);",
        after: "for (let turn = this.#first; turn && turns.length < 1_000; turn = turn.behind) turns.push(turn);",
      },
    ],
  },
  {
    name: "rejection-elsewhere-ends-the-rejections-here",
    family: "calls",
    story:
      "A host takes every call with a hop as proof that its sender knows of all rejections of the shard. A sender without the class orders its calls by actor, so a later call to another actor of the shard overtakes the one that was rejected here.",
    knownFrom: "ourselves",
    changes: [
      {
        file: "src/actors/routing/rejected-shards.ts",
        before: "rejections.ids.delete(id);",
        after: "rejections.ids.clear();",
      },
    ],
    guard: "src/actors/routing/rejected-shards.test.ts",
  },
];
