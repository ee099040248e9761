// Bugs around application code for shards: custom strategies, `shardOf` and roles.
import type { Bug } from "./bug.ts";

const OURS = "our own rejected design";

export const SHARD_CODE: readonly Bug[] = [
  {
    name: "shard-role-is-not-asked",
    family: "shards",
    story:
      "A host that has the class of a type and not its role becomes the home of shards all the same. It runs actors that it was not meant to run.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/host/roles.ts",
        before: "return role === undefined || roles.includes(role);",
        after: "return role === undefined || roles.length >= 0;",
      },
    ],
  },
  {
    name: "shard-strategy-is-not-checked",
    family: "shards",
    story:
      "Whatever the application's strategy names is the home of a shard: somebody who is gone, or never was, or has not the type. Calls to it wait in vain.",
    knownFrom: "Akka, where an allocation strategy that names an unknown region fails the coordinator",
    changes: [
      {
        file: "src/sharding/host/strategy-server.ts",
        before: "choices.push({ shard, incarnation: host?.incarnation });",
        after: "choices.push({ shard, incarnation: host?.incarnation ?? String(said) });",
      },
      {
        file: "src/sharding/leader/strategy-client.ts",
        before:
          "const home = checkedHome(said, regions) ?? FALLBACK.home(shard, regions, undefined);\n  (regions.find(({ incarnation }) => incarnation === home)!.shards as number[]).push(shard);",
        after: "const home = said ?? FALLBACK.home(shard, regions, undefined);",
      },
      {
        file: "src/sharding/model/type-shards.ts",
        before: "host !== undefined && this.#regions.has(host) ? host : this.#emptiest()",
        after: "host ?? this.#emptiest()",
      },
      {
        file: "src/sharding/model/type-shards.ts",
        before: "if (!this.#regions.has(host)) {",
        after: "if (this.#regions.size === 0) {",
      },
    ],
  },
  {
    name: "shard-strategy-late-answer-counts",
    family: "shards",
    story:
      "What a strategy says too late is taken for the answer to what it is asked by then. Shards get homes that nobody has named, while it still thinks about them.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/model/strategy-requests.ts",
        before: "const isHomes = this.#homes?.number === number;",
        after: "const isHomes = this.#homes !== undefined;",
      },
      {
        file: "src/sharding/model/strategy-requests.ts",
        before: "if (question?.number !== number || question.host !== host) return [];",
        after: "if (question === undefined) return [];",
      },
    ],
  },
  {
    name: "shard-strategy-is-waited-for",
    family: "shards",
    story:
      "Nobody limits how long the application's strategy may think. One that never answers keeps shards without a home for ever.",
    knownFrom: "Akka, where a strategy whose future never completes blocks all allocations",
    changes: [
      {
        file: "src/sharding/model/strategy-requests.ts",
        before: "return { number, host, wanted, until: now + this.#patienceMs };",
        after: "return { number, host, wanted, until: Number.POSITIVE_INFINITY };",
      },
      {
        file: "src/sharding/model/type-shards.ts",
        before: "this.#limit(shard, busy, now + this.#settings.chooseMs);",
        after: "this.#limit(shard, busy, Number.POSITIVE_INFINITY);",
      },
    ],
  },
  {
    name: "shard-rule-is-believed-at-once",
    family: "shards",
    story:
      "What the application says of the shard of an id is believed the first time. One that says two things has an actor live in two shards, on two hosts.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/actors/options/shard-extractor.ts",
        before: "if (ask(id) !== shard)",
        after: "if (shard < 0)",
      },
    ],
  },
  {
    name: "shard-is-guessed-without-the-class",
    family: "shards",
    story:
      "A host without the class takes the hash of an id for its shard, although the application has a rule of its own. Its calls go where the actor does not live, again and again.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/host/shard-router.ts",
        before: "(table?.ownShards ? undefined : table?.shards)",
        after: "table?.shards",
      },
    ],
  },
  {
    name: "shard-home-of-an-old-incarnation",
    family: "shards",
    story:
      "A host without the class that is told where an actor lives does not listen if it remembers that address, though from another host that was there before. Its calls are sent back from the wrong one for ever.",
    knownFrom: "ourselves",
    changes: [
      {
        file: "src/placement/model/sticky-holdings.ts",
        before: "if (host === undefined || holdings.remembered.get(id)?.incarnation === host.incarnation) return;",
        after: "if (host === undefined || holdings.remembered.get(id)?.address === host.address) return;",
      },
    ],
  },
  {
    name: "shard-rule-fails-and-nobody-is-woken",
    family: "shards",
    story:
      "A remembered actor whose shard the application could not say when it was to be started is not started any more, though the application can say it the next time.",
    knownFrom: "ourselves",
    guard: "src/sharding/remembered/starter.test.ts",
    changes: [
      {
        file: "src/sharding/remembered/starter.ts",
        before:
          "if (!passed.has(id) && this.#restarts.size < MOST_RESTARTS) this.#restarts.add(id, tenure, shard, true);",
        after: "",
      },
    ],
  },
];
