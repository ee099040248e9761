// Bugs by which a sticky actor gets a second owner, no owner, or a wrong one.
import type { Bug } from "./bug.ts";

const OURS = "our own rejected design";

export const STICKY: readonly Bug[] = [
  {
    name: "sticky-claims-of-a-quorum",
    family: "sticky actors",
    story:
      "A new leader grants sticky actors when most of the hosts it knows have reported. The slow host may be the one that holds the actor: two hosts hold it.",
    knownFrom: "the first proposal of sticky actors for Dapr",
    changes: [
      {
        file: "src/placement/model/sticky-owners.ts",
        before: "return (this.#missing.get(type) ?? 0) === 0;",
        after: "return (this.#missing.get(type) ?? 0) <= this.heard;",
      },
      {
        file: "src/placement/model/sticky-owners.ts",
        before: "const claimed = claiming.get(type);",
        after: "this.heard++;\n      const claimed = claiming.get(type);",
      },
      {
        file: "src/placement/model/sticky-owners.ts",
        before: "#sweepAt = Number.POSITIVE_INFINITY;\n\n  get deadline",
        after: "#sweepAt = Number.POSITIVE_INFINITY;\n  heard = 0;\n\n  get deadline",
      },
    ],
  },
  {
    name: "sticky-grants-open-at-once",
    family: "sticky actors",
    story:
      "A new leader begins with an empty table and grants every request, before the holders of actors have reported: two hosts hold an actor after every change of leaders.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/model/namespace-controller.ts",
        before: "this.sticky.owners.expect(member.incarnation, member.types);",
        after: "",
      },
    ],
  },
  {
    name: "sticky-half-of-the-claims-accepted",
    family: "sticky actors",
    story:
      "A stream that breaks during the report of a host leaves the leader with half of it, and the earlier report is dropped: the rest is granted to others until the host has reported everything on its next stream.",
    knownFrom: OURS,
    guard: "src/placement/model/sticky-owners.test.ts",
    changes: [
      {
        file: "src/placement/model/sticky-owners.ts",
        before: "interrupted.set(incarnation, places);",
        after: "void places;\n      this.#end(this.#types.get(type), place);",
      },
    ],
  },
  {
    name: "sticky-released-before-gone",
    family: "sticky actors",
    story:
      "A host that has to release an actor confirms it at once, while a turn of it still runs. Another host gets the grant: two activations at once.",
    knownFrom: OURS,
    guard: "src/placement/sticky/sticky-client.test.ts",
    changes: [
      {
        file: "src/placement/sticky/sticky-client.ts",
        before: "for (const id of [...this.#holdings.heldOf(type)]) if (!resident?.has(id)) this.#letGo(type, id);",
        after: "void resident; for (const id of [...this.#holdings.heldOf(type)]) this.#letGo(type, id);",
      },
      {
        file: "src/placement/host/order-follower.ts",
        before: "if (!isHost) this.#sticky.letGoOfAll(type);",
        after: "if (!isHost) { this.#sticky.letGoOfAll(type); this.#sticky.flush(); }",
      },
    ],
  },
  {
    name: "sticky-freed-with-the-stream",
    family: "sticky actors",
    story:
      "The leader frees the sticky actors of a host when its stream ends, not when its lease does. A host that only lost its connection continues to run them: two hosts hold each of them.",
    knownFrom: "Dapr, where a lost stream to the placement service ends a host's membership",
    guard: "src/placement/model/sticky-coordinator.test.ts",
    changes: [
      {
        file: "src/placement/model/namespace-controller.ts",
        before: "this.sticky.closed(host);",
        after: "this.sticky.gone(host, true, now);",
      },
    ],
  },
  {
    name: "sticky-held-beyond-the-lease",
    family: "sticky actors",
    story:
      "A host that has lost its lease drops its actors but keeps its record of them. Back in the cluster it claims and activates them, although others were granted them meanwhile.",
    knownFrom: OURS,
    guard: "src/placement/host/membership.test.ts",
    changes: [
      {
        file: "src/placement/host/membership.ts",
        before: "this.#orders.clear();\n    this.#sticky.clear(true);",
        after: "this.#orders.clear();\n    this.#sticky.disconnected();",
      },
      {
        file: "src/placement/sticky/sticky-client.ts",
        before: "if (isDismissed || isForGood || this",
        after: 'if (reason === "lease") return;\n    if (isDismissed || isForGood || this',
      },
    ],
  },
  {
    name: "sticky-moved-by-the-ring",
    family: "sticky actors",
    story:
      "A host releases sticky actors when a new table assigns their ids to another host, as if they followed the ring: every host that joins or leaves moves some of them.",
    knownFrom: "every system without stickiness",
    changes: [
      {
        file: "src/placement/host/order-follower.ts",
        before: "const isFree = !this.#tables.isSticky(name) && type?.options.sticky === undefined;",
        after: "const isFree = type !== undefined;",
      },
    ],
  },
  {
    name: "sticky-leaves-when-idle",
    family: "sticky actors",
    story: "An idle sticky actor leaves memory like any other.",
    knownFrom: "every system without stickiness",
    changes: [
      {
        file: "src/actors/activation/idle-sweeper.ts",
        before: "useOrder.countIdle(now - options.idleTimeoutMs));\n        continue;",
        after: "useOrder.countIdle(now - options.idleTimeoutMs));",
      },
    ],
  },
  {
    name: "sticky-assigned-to-a-lost-host",
    family: "sticky actors",
    story:
      "Actors kept for a lost host are assigned to the first host of that name in the last table, which may be the lost one itself until the next table: the leader considers the dead host their holder for ever, and every call to them times out.",
    knownFrom: OURS,
    guard: "src/placement/model/sticky-coordinator.test.ts",
    changes: [
      {
        file: "src/placement/model/sticky-coordinator.ts",
        before: "table.hosts.find((host) => host.name === name && isThere(host)),",
        after: "table.hosts.find((host) => host.name === name || isThere === undefined),",
      },
    ],
  },
  {
    name: "sticky-asked-before-claimed",
    family: "sticky actors",
    story:
      "A host on a new stream requests actors before it has reported, and is granted some. Then it reports all its actors but these, so the leader frees them and grants them to others.",
    knownFrom: OURS,
    guard: "src/placement/model/sticky-owners.test.ts",
    changes: [
      {
        file: "src/placement/model/sticky-owners.ts",
        before: "if (!this.isOpen(type) || this.#claiming.has(host.incarnation)) return LATER;",
        after: "if (!this.isOpen(type)) return LATER;",
      },
      {
        file: "src/placement/sticky/sticky-client.ts",
        before: "if (this.#claims !== undefined || this.#requests.length === 0) return;",
        after: "if (this.#requests.length === 0) return;",
      },
      {
        file: "src/placement/sticky/sticky-client.ts",
        before: "    this.#unacknowledged = 0;\n    this.#claimMore();",
        after:
          "    this.#unacknowledged = 0;\n    this.#requests = this.#holdings.unanswered(this.#deps.clock.monotonic());\n    this.flush();\n    this.#claimMore();",
      },
    ],
  },
  {
    name: "sticky-stale-cache-is-used",
    family: "sticky actors",
    story:
      "The host that has to request an actor trusts its cache, also for a call that was rejected there. After an actor has been released elsewhere, callers go back and forth between the two until they give up.",
    knownFrom: OURS,
    guard: "src/world/sticky.test.ts",
    changes: [
      {
        file: "src/actors/routing/inbound-calls.ts",
        before: "if (hops > 0 && placement.isSticky(type)) placement.invalidateOwner(type, id);",
        after: "",
      },
    ],
  },
  {
    name: "sticky-unwanted-grant-is-not-released",
    family: "sticky actors",
    story:
      "A host ignores a grant for a request that it no longer waits for. The leader considers the host the holder; calls that are routed there are rejected and retried, until they give up.",
    knownFrom: OURS,
    guard: "src/placement/sticky/sticky-client.test.ts",
    changes: [
      {
        file: "src/placement/sticky/sticky-client.ts",
        before: "if (!isWanted || !wants(type) || known === undefined) {\n      this.#reportReleased(type, id);",
        after: "if (!isWanted || !wants(type) || known === undefined) {",
      },
    ],
  },
  {
    name: "sticky-waiting-is-not-looked-at-again",
    family: "sticky actors",
    story:
      "Requests that a new leader could not answer at once are not processed again when the last host has reported: calls to new actors time out.",
    knownFrom: OURS,
    guard: "src/placement/model/sticky-coordinator.test.ts",
    changes: [
      {
        file: "src/placement/model/sticky-coordinator.ts",
        before: "this.owners.claimed(host, now);\n    this.#stirred = true;",
        after: "this.owners.claimed(host, now);",
      },
    ],
  },
];
