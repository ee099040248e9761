// Bugs by which a shard gets a second home or none, or by which calls are lost or reordered while it moves.
import type { Bug } from "./bug.ts";

const OURS = "our own rejected design";

export const SHARDS: readonly Bug[] = [
  {
    name: "shard-announced-before-persisted",
    family: "shards",
    story:
      "The leader announces the home of a shard while its write to the store is still in flight. A leader that ends in between leaves hosts with a home that the next leader does not know: it assigns the shard to another one.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/leader/effect-performer.ts",
        before:
          "persist({ namespace, type, shard, incarnation: host }, () => this.#persisted(type, shard, host));\n        return [];",
        after:
          "persist({ namespace, type, shard, incarnation: host }, () => {});\n        return known.shards.persisted(shard, host, now);",
      },
    ],
  },
  {
    name: "shard-stopped-before-gone",
    family: "shards",
    story:
      "The home of a shard reports that it is stopped as soon as its actors are ordered to leave. Turns that still run there overlap turns of the new home.",
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
    name: "shard-stop-without-buffering",
    family: "shards",
    story:
      "The leader orders the home of a shard to hand off at once and does not wait until all hosts buffer calls. Calls of others meanwhile reach a host that is letting go, and activate actors there again.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/model/type-shards.ts",
        before: 'if (phase !== "buffering" || waiting.size > 0) return;',
        after: 'if (phase !== "buffering") return;',
      },
      {
        file: "src/sharding/model/shard-states.ts",
        before: 'this.#require(busy.waiting.size === 0, "a shard stops when no host is waited for", shard);',
        after: "",
      },
      {
        file: "src/sharding/model/shard-region.ts",
        before: 'if (this.#buffered.has(shard)) return "wait";',
        after: 'if (this.#buffered.has(shard) && !this.#held.has(shard)) return "wait";',
      },
    ],
  },
  {
    name: "shard-wakes-while-it-stops",
    family: "shards",
    story:
      "A host continues to activate actors of a shard that it is about to hand off, because it is still its home. They are active after it has reported that none is.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/model/shard-region.ts",
        before: 'if (this.#buffered.has(shard)) return "wait";\n    if (this.#held.has(shard)) return "here";',
        after: 'if (this.#held.has(shard)) return "here";\n    if (this.#buffered.has(shard)) return "wait";',
      },
    ],
  },
  {
    name: "shard-home-is-never-forgotten",
    family: "shards",
    story:
      "A host keeps the first home of a shard in its cache for ever, also after a move and after a rejection there. Its calls are routed in circles.",
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
        before: "recheckHome(shard: number): void {\n    this.#homes.delete(shard);",
        after: "recheckHome(shard: number): void {\n    void shard;",
      },
    ],
  },
  {
    name: "shard-writes-of-any-term",
    family: "shards",
    story:
      "The store accepts homes from a leader whose term has ended. Its late write replaces the home of its successor, and the next leader reads it.",
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
    name: "shard-buffered-calls-lose-their-order",
    family: "shards",
    story: "Calls that were buffered while their shard moved are sent to the new home in any order.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/actors/routing/waiting-queue.ts",
        before: "while (at > 0 && arrivalOf(line[at - 1]!) > arrival) at--;",
        after: "while (at > 0 && arrivalOf(line[at - 1]!) < arrival) at--;",
      },
      {
        file: "src/actors/routing/call-order.ts",
        before: "if (this.#queue.size > 0 && this.#queue.isBehind(turn)) return true;",
        after: 'if (typeof route === "string") return false;',
      },
    ],
  },
  {
    name: "shard-calls-overtake-rejected-calls",
    family: "shards",
    story:
      "Calls after the move of a shard go to its new home at once, while an earlier call of the same host is on its way back from the old one.",
    knownFrom: "Akka, where a message buffered by the old region arrives after newer ones",
    changes: [
      {
        file: "src/actors/routing/call-order.ts",
        before: "if (route === HERE && this.#inFlight.isEmpty) return false;",
        after: "if (turn.routed().arrival > 0) return false;",
      },
    ],
  },
  {
    name: "shard-freed-with-the-stream",
    family: "shards",
    story:
      "The leader assigns the shards of a host to others when its stream ends, not when its lease does. A host that only lost its connection continues to run them.",
    knownFrom: "Dapr, where a lost stream to the placement service ends a host's membership",
    changes: [
      {
        file: "src/sharding/leader/coordinator-driver.ts",
        before: "this.perform(type, shards.streamLost(incarnation), now);",
        after: "this.perform(type, shards.gone(incarnation, now), now);",
      },
    ],
  },
  {
    name: "shard-homes-forgotten-by-the-next-leader",
    family: "shards",
    story:
      "A new leader does not read the stored homes and assigns each shard by the strategy, while the earlier hosts continue to run them.",
    knownFrom: "Akka #28856",
    changes: [
      {
        file: "src/sharding/leader/coordinator-driver.ts",
        before:
          "const homes = [...(persisted?.homes ?? [])].filter(([, host]) => this.#deps.host(host) !== undefined);",
        after: "const homes: [number, string][] = [];",
      },
    ],
  },
  {
    name: "shard-held-beyond-the-lease",
    family: "shards",
    story:
      "A host that has lost its lease drops its actors and still considers itself the home of their shards. When it has a lease again it activates them, although others are their home by now.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/host/region-driver.ts",
        before: "  clear(): void {\n    this.#routers.clear();",
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
    story: "The leader keeps an ended host as the home of its shards: calls to them time out.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/model/type-shards.ts",
        before: "for (const [shard, host] of this.homes) if (host === incarnation) this.#freed(shard, now, effects);",
        after: "",
      },
    ],
  },
  {
    name: "shard-requesters-forgotten",
    family: "shards",
    story:
      "A host that buffers calls for a moving shard is not notified of its new home unless it requested it: the calls wait until another host requests it.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/sharding/model/shard-states.ts",
        before: "for (const host of hosts) busy.askers.add(host);",
        after: "",
      },
    ],
  },
  {
    name: "shard-stop-lost-with-its-stream",
    family: "shards",
    story:
      "An order to hand off a shard that is lost with the stream of its home is not repeated: the hand-off never ends.",
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
      "The report that a shard is stopped is sent once. When the stream breaks at that moment the leader waits for it for ever.",
    knownFrom: "ourselves",
    guard: "src/sharding/model/shard-region.test.ts",
    changes: [
      {
        file: "src/sharding/model/shard-region.ts",
        before: 'if (actors === "stopped") stopped.push({ shard, move });\n      else this.#buffered.delete(shard);',
        after: "void move;\n      this.#buffered.delete(shard);",
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
      "A host that gets the answer that no host can be the home of a shard repeats its request at once. While a new leader waits for old leases the two keep each other busy and do nothing else.",
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
      "A host removes a type, and the leader dies before its shards are handed off. The next leader considers the host their home, and never orders a hand-off: calls to them wait for a host that no table names.",
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
    name: "shard-call-waits-for-a-rejected-call",
    family: "shards",
    story:
      "A host rejects a call because the shard is elsewhere, then becomes its home, and runs the next call of the same caller, which was in flight: it has overtaken the first.",
    knownFrom: "ourselves",
    guard: "src/actors/routing/cluster-routing.test.ts",
    changes: [
      {
        file: "src/actors/routing/inbound-calls.ts",
        before: " || (!call.passOn && this.#isBehindRejected(call, connection))",
        after: "",
      },
    ],
  },
];
