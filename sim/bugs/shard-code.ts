// Bugs around application code for shards: custom strategies, `shardOf` and roles.
import type { Bug } from "./bug.ts";

const OURS = "our own rejected design";

export const SHARD_CODE: readonly Bug[] = [
  {
    name: "shard-role-is-not-asked",
    family: "shards",
    story:
      "A host that has the class of a type and not its role becomes the home of shards all the same. It runs actors that it must not run.",
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
      "Every host that the custom strategy returns becomes the home of a shard: also one that has ended, never existed, or lacks the type. Calls to it time out.",
    knownFrom: "Akka, where an allocation strategy that names an unknown region fails the coordinator",
    changes: [
      {
        file: "src/sharding/host/strategy-server.ts",
        before: "choices.push({ shard, incarnation: host?.incarnation });",
        after: "choices.push({ shard, incarnation: host?.incarnation ?? String(answer) });",
      },
      {
        file: "src/sharding/leader/strategy-client.ts",
        before:
          "const home = checkedHome(answer, regions) ?? FALLBACK.home(shard, regions, undefined);\n  (regions.find(({ incarnation }) => incarnation === home)!.shards as number[]).push(shard);",
        after: "const home = answer ?? FALLBACK.home(shard, regions, undefined);",
      },
      {
        file: "src/sharding/model/type-shards.ts",
        before: "host !== undefined && this.#hosts.has(host) ? host : this.#hosts.emptiest(this.#states)",
        after: "host ?? this.#hosts.emptiest(this.#states)",
      },
      {
        file: "src/sharding/model/type-shards.ts",
        before: "if (!this.#hosts.has(host)) {",
        after: "if (this.#hosts.size === 0) {",
      },
    ],
  },
  {
    name: "shard-strategy-late-answer-counts",
    family: "shards",
    story:
      "A late response of a strategy counts as the response to the present request. Shards get homes that the strategy did not return, while it still decides about them.",
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
    story: "The custom strategy has no timeout. One that never answers keeps shards without a home for ever.",
    knownFrom: "Akka, where a strategy whose future never completes blocks all allocations",
    changes: [
      {
        file: "src/sharding/model/strategy-requests.ts",
        before: "return { number, host, wanted, until: now + this.#patienceMs };",
        after: "return { number, host, wanted, until: Number.POSITIVE_INFINITY };",
      },
      {
        file: "src/sharding/model/type-shards.ts",
        before: "this.#hasBegun ? now + this.#settings.chooseMs : Number.POSITIVE_INFINITY",
        after: "Number.POSITIVE_INFINITY",
      },
    ],
  },
  {
    name: "shard-rule-is-believed-at-once",
    family: "shards",
    story:
      "The first result of a custom `shardOf` is accepted without a second call. A rule with two results puts one actor into two shards, on two hosts.",
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
      "A host without the class uses the hash of an id as its shard, although the application has a custom `shardOf`. Its calls go to the wrong host, again and again.",
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
      "A host without the class ignores the announced home of an actor if it has that address in its cache, though from an earlier host at the address. Its calls are rejected by the wrong host for ever.",
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
    name: "shard-rule-fails-and-no-call-is-woken",
    family: "shards",
    story:
      "A remembered actor is never started again after the custom `shardOf` failed once for it, though it succeeds the next time.",
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
