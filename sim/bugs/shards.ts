// Bugs by which a shard gets a second home or none, or by which calls are lost or reordered while it moves.
import type { Bug } from "./bug.ts";

const OURS = "our own rejected design";

export const SHARDS: readonly Bug[] = [
  {
    name: "shard-told-before-noted",
    family: "shards",
    story:
      "The leader tells everybody where a shard lives while the store is still being told. A leader that ends in between leaves hosts that know of a home of which the next leader knows nothing: it gives the shard another one.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/leader/coordinator-driver.ts",
        before:
          "note({ namespace, type, shard, incarnation: host }, () => this.#saved(type, shard, host));\n        return [];",
        after:
          "note({ namespace, type, shard, incarnation: host }, () => {});\n        return known.shards.saved(shard, host, now);",
      },
    ],
  },
  {
    name: "shard-stopped-before-gone",
    family: "shards",
    story:
      "The home of a shard says that nothing of it is left as soon as it has told its actors to leave. Turns that still run there meet those of the new home.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/host/region-driver.ts",
        before: "await catalog.letGo(actors, handOffMs);",
        after: "void catalog.letGo(actors, handOffMs);",
      },
    ],
  },
  {
    name: "shard-stop-without-gathering",
    family: "shards",
    story:
      "The leader has the home of a shard stop at once and does not wait until everybody keeps calls back. What others send meanwhile comes to a host that lets go, and comes to life there again.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/model/type-shards.ts",
        before: 'if (busy.phase !== "gathering" || busy.waiting.size > 0) return;',
        after: 'if (busy.phase !== "gathering") return;',
      },
      {
        file: "src/sharding/model/shard-region.ts",
        before: 'if (this.#kept.has(shard)) return "wait";',
        after: 'if (this.#kept.has(shard) && !this.#held.has(shard)) return "wait";',
      },
    ],
  },
  {
    name: "shard-wakes-while-it-stops",
    family: "shards",
    story:
      "A host goes on to wake actors of a shard that it is about to let go of, because it is still its home. They are there when it has said that none is.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/model/shard-region.ts",
        before: 'if (this.#kept.has(shard)) return "wait";\n    if (this.#held.has(shard)) return "here";',
        after: 'if (this.#held.has(shard)) return "here";\n    if (this.#kept.has(shard)) return "wait";',
      },
    ],
  },
  {
    name: "shard-home-is-never-forgotten",
    family: "shards",
    story:
      "A host that once heard where a shard lives believes it for ever, also when it hears of a move and when it is turned away there. Its calls go round in vain.",
    knownFrom: "Akka, where a region that missed a hand-off kept sending to the old one",
    changes: [
      {
        file: "src/sharding/model/shard-region.ts",
        before: "if (this.#homes.get(shard)?.address === address) this.#homes.delete(shard);",
        after: "void address;",
      },
      {
        file: "src/sharding/model/shard-region.ts",
        before: "this.#held.delete(shard);\n      this.#homes.set(shard, home);",
        after: "this.#held.delete(shard);\n      if (!this.#homes.has(shard)) this.#homes.set(shard, home);",
      },
      {
        file: "src/sharding/model/shard-region.ts",
        before: 'actors: isStopping ? "stopping" : "left alone" });\n    this.#homes.delete(shard);',
        after: 'actors: isStopping ? "stopping" : "left alone" });',
      },
      {
        file: "src/sharding/model/shard-region.ts",
        before: "doubt(shard: number): void {\n    this.#homes.delete(shard);",
        after: "doubt(shard: number): void {\n    void shard;",
      },
    ],
  },
  {
    name: "shard-notes-of-any-term",
    family: "shards",
    story:
      "The store takes what a leader says about homes whose term is over. What it notes late replaces what its successor has noted, and the next leader believes it.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/stores/memory/memory-shards.ts",
        before: "if (term !== this.#term()) return false;",
        after: "if (term > this.#term()) return false;",
      },
    ],
  },
  {
    name: "shard-calls-kept-back-come-out-of-order",
    family: "shards",
    story: "Calls that were kept back while their shard moved are sent to the new home in any order.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/actors/routing/waiting-queue.ts",
        before: "while (at > 0 && line[at - 1]!.arrival > arrival) at--;",
        after: "while (at > 0 && line[at - 1]!.arrival < arrival) at--;",
      },
      {
        file: "src/actors/routing/router.ts",
        before: "if (this.#room.size > 0 && this.#room.isBehind(turn)) return true;",
        after: 'if (typeof route === "string") return false;',
      },
    ],
  },
  {
    name: "shard-calls-overtake-those-sent-back",
    family: "shards",
    story:
      "What is called after a shard has moved goes to its new home at once, while an earlier call of the same host is on its way back from the old one.",
    knownFrom: "Akka, where a message buffered by the old region arrives after newer ones",
    changes: [
      {
        file: "src/actors/routing/router.ts",
        before: "if (route === HERE && this.#underway.isEmpty) return false;",
        after: "if (turn.arrival > 0) return false;",
      },
    ],
  },
  {
    name: "shard-freed-with-the-stream",
    family: "shards",
    story:
      "The leader gives the shards of a host to others when its stream ends, not when its lease does. A host that only lost its connection goes on to run them.",
    knownFrom: "Dapr, where a lost stream to the placement service ends a host's membership",
    changes: [
      {
        file: "src/sharding/leader/coordinator-driver.ts",
        before: "this.perform(type, shards.deaf(incarnation), now);",
        after: "this.perform(type, shards.gone(incarnation, now), now);",
      },
    ],
  },
  {
    name: "shard-homes-forgotten-by-the-next-leader",
    family: "shards",
    story:
      "A new leader does not read where shards live and gives each to whoever the strategy names, while the hosts of before go on to run them.",
    knownFrom: "Akka #28856",
    changes: [
      {
        file: "src/sharding/leader/coordinator-driver.ts",
        before: "const homes = [...(left?.homes ?? [])].filter(([, host]) => this.#deps.host(host) !== undefined);",
        after: "const homes: [number, string][] = [];",
      },
    ],
  },
  {
    name: "shard-held-beyond-the-lease",
    family: "shards",
    story:
      "A host that has lost its lease drops its actors and goes on to believe that it is the home of their shards. When it has a lease again it wakes them, although others are their home by now.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/host/region-driver.ts",
        before: "  clear(): void {\n    this.#ways.clear();",
        after: "  clear(): void {",
      },
      {
        file: "src/sharding/model/shard-region.ts",
        before: "...this.#homes.keys(), ...this.#held]);",
        after: "...this.#homes.keys()]);",
      },
    ],
  },
  {
    name: "shard-of-the-dead",
    family: "shards",
    story:
      "The leader goes on to name a host as the home of its shards that is gone for good: calls to them wait in vain.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/model/type-shards.ts",
        before: "for (const [shard, host] of this.#homes) if (host === incarnation) this.#freed(shard, now, effects);",
        after: "",
      },
    ],
  },
  {
    name: "shard-askers-forgotten",
    family: "shards",
    story:
      "Who keeps calls back for a shard that moves is not told of its new home unless it asked: the calls wait until somebody else does.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/model/type-shards.ts",
        before: "for (const host of hosts) busy.askers.add(host);",
        after: "",
      },
    ],
  },
  {
    name: "shard-stop-lost-with-its-stream",
    family: "shards",
    story:
      "The home of a shard that was told to let go and did not hear it, because its stream broke, is not told again: the shard is on its way for ever.",
    knownFrom: "ourselves",
    guard: "src/sharding/model/type-shards.test.ts",
    changes: [
      {
        file: "src/sharding/model/type-shards.ts",
        before: 'if (busy.phase !== "stopping" || busy.move!.from !== asker) return [];',
        after: "if (busy.move !== undefined || busy.move === undefined) return [];",
      },
    ],
  },
  {
    name: "shard-stopped-lost-with-its-stream",
    family: "shards",
    story:
      "That nothing of a shard is left at its home is said once. When the stream breaks at that moment the leader waits for it for ever.",
    knownFrom: "ourselves",
    guard: "src/sharding/model/shard-region.test.ts",
    changes: [
      {
        file: "src/sharding/model/shard-region.ts",
        before: 'if (actors === "stopped") stopped.push({ shard, move });\n      else this.#kept.delete(shard);',
        after: "void move;\n      this.#kept.delete(shard);",
      },
      {
        file: "src/sharding/model/type-shards.ts",
        before: 'if (busy.phase !== "stopping" || busy.move!.from !== asker) return [];',
        after: "if (busy.phase.length > 0) return [];",
      },
    ],
  },
  {
    name: "shard-asked-for-without-a-pause",
    family: "shards",
    story:
      "A host that hears that nobody can be the home of a shard asks again at once. While a new leader waits for old leases the two keep each other busy and do nothing else.",
    knownFrom: "ourselves",
    changes: [
      {
        file: "src/sharding/host/region-driver.ts",
        before: "message.homes.map(({ shard }) => shard).filter((shard) => region.isClear(shard)),",
        after: "message.homes.map(({ shard }) => shard),",
      },
    ],
  },
  {
    name: "shard-given-up-under-the-leader-before",
    family: "shards",
    story:
      "A host gives a type up, and the leader dies before its shards are handed over. The next leader believes it to be their home, and nobody asks it to let go: calls to them wait for a host that no table names.",
    knownFrom: "ourselves",
    guard: "src/sharding/leader/coordinator-driver.test.ts",
    changes: [
      {
        file: "src/sharding/leader/coordinator-driver.ts",
        before: "this.#leavers(type, known.leaving)",
        after: "known.leaving",
      },
    ],
  },
  {
    name: "shard-call-stays-behind-one-that-was-sent-back",
    family: "shards",
    story:
      "A host sends a call back because the shard is elsewhere, then becomes its home, and runs the next call of the same caller, which was on its way: it has overtaken the first.",
    knownFrom: "ourselves",
    guard: "src/actors/routing/router.test.ts",
    changes: [
      {
        file: "src/actors/routing/router.ts",
        before: " || (!call.passOn && this.#follows(call, line))",
        after: "",
      },
    ],
  },
];
