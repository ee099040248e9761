// Bugs that stop progress without breaking a safety rule: a type stays locked, a host never joins, no
// scheduler leads.
import type { Bug } from "./bug.ts";

export const CONTROL_PLANE_STUCK: readonly Bug[] = [
  {
    name: "one-lost-host-silences-the-rest",
    family: "control plane stuck",
    story:
      "Orders go to one host after another until one of them has no stream; the hosts after it get nothing, and orders are not repeated. Types stay locked, and the leader evicts hosts for orders they never got.",
    knownFrom: "Dapr #7031",
    changes: [
      {
        file: "src/placement/model/connection-controller.ts",
        before: "return [...this.#byStream].filter(([, { isInformed }]) => isInformed).map(([stream]) => stream);",
        after: `const streams: number[] = [];
    for (const { stream } of this.#hosts.values()) {
      if (stream === undefined) break;
      streams.push(stream);
    }
    return streams;`,
      },
      {
        file: "src/placement/model/type-rounds.ts",
        before: "if (stream !== undefined) this.#repeat(stream, controllers, effects);",
        after: "void stream;",
      },
    ],
  },
  {
    name: "round-timeout-evicts-all-hosts",
    family: "control plane stuck",
    story:
      "When one host delays a round for too long, every host of the round is evicted. All of them drop their actors and rejoin as new incarnations: hosts that had confirmed are evicted, and calls fail everywhere.",
    knownFrom: "Dapr #9689",
    guard: "src/placement/model/actor-type-controller.test.ts",
    changes: [
      {
        file: "src/placement/model/actor-type-controller.ts",
        before: `kind: "late", incarnations: [...round.waiting] }`,
        after: `kind: "late", incarnations: [...round.members] }`,
      },
    ],
  },
  {
    name: "no-reconnect-after-an-error",
    family: "control plane stuck",
    story:
      "A host whose stream ended with an error does not open another one. It loses its lease although the leader is present, and if the next attempt fails as well it stays without one for ever: calls to its actors fail, and its own calls wait until they time out.",
    knownFrom: "Dapr #9770",
    changes: [
      {
        file: "src/placement/host/membership.ts",
        before: `this.#deps.source.recheck();
    this.#later();`,
        after: `this.#deps.source.recheck();
    if (error === undefined) this.#later();`,
      },
    ],
  },
  {
    name: "late-close-of-an-old-stream",
    family: "control plane stuck",
    story:
      "When a host has reconnected on a new stream, the end of its old one counts as the end of the host. A live host that renews its lease is missing in the next table and stays out: it gets no actors, although it is a member and reports its types.",
    knownFrom: "Dapr #10323",
    changes: [
      {
        file: "src/placement/model/connection-controller.ts",
        before: "if (stale !== undefined) this.#byStream.delete(stale);",
        after: "",
      },
      {
        file: "src/placement/model/connection-controller.ts",
        before: "if (host === undefined || host.stream !== stream) return undefined;",
        after: "if (host === undefined) return undefined;",
      },
    ],
  },
  {
    name: "timer-not-armed",
    family: "control plane stuck",
    story:
      "The leader sets no timer after it has received a message. Leases of dead hosts do not end and late rounds are not detected: a type with a dead host stays locked or keeps naming it, and calls to its actors never find a host.",
    knownFrom: "Dapr #9876",
    guard: "src/placement/leader/leader-term.test.ts",
    changes: [
      {
        file: "src/placement/leader/leader-term.ts",
        before: `this.#notifyShards(namespace, effects);
    } catch (err) {
      this.#endOnBug(err);
    }
    this.#arm();`,
        after: `this.#notifyShards(namespace, effects);
    } catch (err) {
      this.#endOnBug(err);
    }`,
      },
    ],
  },
  {
    name: "campaigning-ends-with-an-error",
    family: "control plane stuck",
    story:
      "A scheduler never repeats a failed request to the store. It loses its leadership or never learns who leads; after an outage of the store there is no leader any more, and hosts stay without a lease.",
    knownFrom: "Dapr #9696",
    changes: [
      {
        file: "src/placement/leader/election.ts",
        before: "this.#later(RETRY_MS * (1 + this.#deps.random.number()));",
        after: "",
      },
      {
        file: "src/placement/leader/election.ts",
        before: "if (!this.#stopped) this.#later(RECHECK_MS",
        after: "if (!this.#stopped && this.#failures === 0) this.#later(RECHECK_MS",
      },
    ],
  },
  {
    name: "member-write-is-not-retried",
    family: "control plane stuck",
    story:
      "A failed write about a host is not repeated. The host waits for it for ever: it renews its lease, is in no table and never becomes ready, although the store is back.",
    knownFrom: "Dapr 1.17.7",
    guard: "src/placement/leader/leader-term.test.ts",
    changes: [
      {
        file: "src/placement/leader/member-writes.ts",
        before: `await new Promise<void>((resolve) => this.#deps.clock.after(RETRY_MS, resolve, "background"));`,
        after: "this.#pending.splice(0, batch.length);",
      },
    ],
  },
  {
    name: "handover-waits-for-the-dead",
    family: "control plane stuck",
    story:
      "A round keeps waiting for the confirmation of an ended host. The type stays locked for ever: moved actors never become active, and no later change is announced.",
    knownFrom: "Akka #29034",
    changes: [
      {
        file: "src/placement/model/actor-type-controller.ts",
        before: "return this.#round?.waiting.delete(incarnation) ? this.#advance(now) : [];",
        after: "return [];",
      },
    ],
  },
  {
    name: "address-of-the-dead-stays-taken",
    family: "control plane stuck",
    story:
      "The address of an ended host stays taken. A process that starts again at the same address, or has lost its lease, is rejected for ever and never joins.",
    knownFrom: "Orleans #2399",
    changes: [
      {
        file: "src/placement/model/connection-controller.ts",
        before: "if (this.#byAddress.get(host.address) === host) this.#byAddress.delete(host.address);",
        after: "",
      },
    ],
  },
  {
    name: "stream-loss-drops-everything",
    family: "control plane stuck",
    story:
      "A host drops all its actors when its stream ends, although its lease is valid. Every change of leader and every short fault of the network costs running calls: turns are cut off and callers get LEASE_LOST although no lease has ended.",
    knownFrom: "Akka.Management #3404",
    changes: [
      {
        file: "src/placement/host/membership.ts",
        before: `this.#deps.source.recheck();
    this.#later();`,
        after: `this.#deps.source.recheck();
    if (this.#lease.held) this.#startOver();
    else this.#later();`,
      },
    ],
  },
  {
    name: "comes-back-with-old-tables",
    family: "control plane stuck",
    story:
      "A host that has lost its lease rejoins as a new incarnation with the tables of the previous one. The leader cannot accept it as a new one and removes it, again and again: it never joins.",
    knownFrom: "Orleans #8688",
    changes: [
      {
        file: "src/placement/host/membership.ts",
        before: "this.#tables.clear();",
        after: "",
      },
    ],
  },
  {
    name: "waiting-calls-are-not-woken",
    family: "control plane stuck",
    story:
      "UNLOCK resumes no waiting calls, and they do not retry by themselves. A call that waited for it stays until its timeout, although its type is unlocked and its host is present.",
    knownFrom: "our own rejected design",
    guard: "src/placement/model/host-tables.test.ts",
    changes: [
      {
        file: "src/placement/model/host-tables.ts",
        before: `{ kind: "changed", types },`,
        after: "",
      },
      {
        file: "src/actors/routing/waiting-queue.ts",
        before: "const ms = forMs ?? this.#deps.lookAgainMs?.(type) ?? LOOK_AGAIN_MS;",
        after: "const ms = forMs ?? 86_400_000;",
      },
    ],
  },
  {
    name: "left-but-still-a-member",
    family: "control plane stuck",
    story:
      "A late write of a leader about a host restores it among the stored members after it has left. The next leader waits for it: a process that starts again at its address is rejected, and types stay closed, for as long as a lease although no host is missing.",
    knownFrom: "ourselves",
    guard: "src/stores/contract/members.contract.ts",
    changes: [
      {
        file: "src/stores/memory/memory-coordination.ts",
        before: "else if (!change.isKnown || members.has(change.member.incarnation)) {",
        after: "else {",
      },
    ],
  },
];
