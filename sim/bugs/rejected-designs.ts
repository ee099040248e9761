// Rejected designs of rounds, durable writes and leadership that look simpler than the present ones.
import type { Bug } from "./bug.ts";

const OURS = "our own rejected design";

export const REJECTED_DESIGNS: readonly Bug[] = [
  {
    name: "confirmed-before-gone",
    family: "rejected design",
    story:
      "A host confirms an update when it has begun to release moved actors, not when they are gone. The new owner begins while the last turn still runs: two activations at once in every move of a busy actor.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/host/order-follower.ts",
        before: `void catalog.moveAway(type, stays, moveTimeoutMs).then((actors) => {
        if (this.#draining.get(name) === drain) this.#draining.delete(name);
        instruments.halted(name, actors, reasons.get(name));
        done([name]);
      });`,
        after: `still.push(name);
      void catalog.moveAway(type, stays, moveTimeoutMs).then(() => this.#draining.delete(name));
      void reasons;`,
      },
    ],
  },
  {
    name: "unlocked-by-a-majority",
    family: "rejected design",
    story:
      "UNLOCK is sent when most members of a round have confirmed. With three hosts or more, a slow host still runs actors that others activate: two activations at once.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/model/actor-type-controller.ts",
        before: "if (round === undefined || round.waiting.size > 0) return [];",
        after: "if (!round || (round.waiting.size > 0 && round.waiting.size * 2 >= round.members.size)) return [];",
      },
    ],
  },
  {
    name: "update-taken-as-base",
    family: "rejected design",
    story:
      "A host reports its newest table to a new leader, although it was never unlocked, and compares with it. When a leader dies in a round, new owners begin at once while the previous owners are still letting go: two activations at once.",
    knownFrom: OURS,
    guard: "src/placement/model/host-tables.test.ts",
    changes: [
      {
        file: "src/placement/model/host-tables.ts",
        before: "if (state.unlocked !== undefined && !state.ahead) versions.set(type, state.unlocked.version);",
        after: `state.unlocked = state.newest;
      if (state.unlocked !== undefined) versions.set(type, state.unlocked.version);`,
      },
    ],
  },
  {
    name: "lock-forgotten-for-returning-hosts",
    family: "rejected design",
    story:
      "A host that reconnects during a round gets the new table without its lock. It activates actors before the previous owners have let go, so two activations run at once; and it does not know the UNLOCK, so the round waits for it until it is evicted.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/model/type-rounds.ts",
        before: `const types = tables.map(({ type }) => type);
      send(this.#order("lock", number, types, []));`,
        after: "const types = tables.map(({ type }) => type);",
      },
    ],
  },
  {
    name: "released-while-still-running",
    family: "rejected design",
    story:
      "The previous owner answers that an actor is gone as soon as it has to move, while its last turn still runs or commits. The new owner then activates it: two activations at once.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/actors/routing/router.ts",
        before: "return this.#isActive(turn) ? FIRST_PAUSE_MS : REJECT;",
        after: "return REJECT;",
      },
    ],
  },
  {
    name: "members-kept-in-memory",
    family: "rejected design",
    story:
      "The leader keeps the set of hosts that may hold actors only in memory. The next one knows no host and assigns everything to the first host that reports, while the others still run their actors: two activations at once after each change of leader, and no members in the store.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/model/connection-controller.ts",
        before: `state: hello.types.length > 0 ? "joining" : "member",`,
        after: `state: "member",`,
      },
      {
        file: "src/placement/model/connection-controller.ts",
        before: "held: new Set(),",
        after: "held: new Set(hello.types),",
      },
    ],
  },
  {
    name: "leads-again-in-the-same-term",
    family: "rejected design",
    story:
      "A scheduler that gives up its leadership, here whenever the store does not answer, takes it again in the same term with empty tables. It orders other contents under the same numbers: hosts ignore its locks and never confirm its unlocks, tables of the same version differ, and two activations run at once.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/leader/election.ts",
        before: `this.#former = this.incarnation;
    this.incarnation = this.#deps.random.id();`,
        after: "",
      },
      {
        file: "src/placement/leader/election.ts",
        before: `("election.failed", { err });`,
        after: `("election.failed", { err });
      this.#giveUp("the store does not answer");`,
      },
    ],
  },
  {
    name: "resigned-term-is-used-again",
    family: "rejected design",
    story:
      "A scheduler that takes a leadership after an orderly resignation continues in the same term. Two leaders share a term and number their rounds and tables alike: after a leader has stopped, hosts ignore the orders of the next one or mix the tables of both, and types stay locked.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/stores/leadership.ts",
        before: "if (mayLead) return begun(before, me, candidate, now);",
        after: `if (mayLead && before.term > 0 && before.holder === undefined) return { ...before, holder: me };
      if (mayLead) return begun(before, me, candidate, now);`,
      },
    ],
  },
];
