// Rejected designs of lease measurement and expiry that look simpler than the present ones.
import type { Bug } from "./bug.ts";

const OURS = "our own rejected design";

export const REJECTED_LEASES: readonly Bug[] = [
  {
    name: "lease-never-ends-on-its-own-clock",
    family: "rejected design",
    story:
      "A host releases its actors only by order of the leader. An unreachable host runs them for as long as it is cut off, beside the activations of the new owners: two activations at once.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/host/placement-resolver.ts",
        before: "return this.#lease.mayBegin(now, this.#deps.clock.now());",
        after: "return this.#lease.held;",
      },
      {
        file: "src/placement/host/placement-resolver.ts",
        before: "return this.#lease.lasts(now, this.#deps.clock.now());",
        after: "return this.#lease.held;",
      },
      {
        file: "src/placement/host/lease-keeper.ts",
        before: `if (this.#lease.lasts(clock.monotonic(), clock.now())) this.#watchEnd();
        else this.#endLease();`,
        after: "",
      },
    ],
  },
  {
    name: "lease-counted-from-the-answer",
    family: "rejected design",
    story:
      "A host counts its lease from the arrival of the answer, not from the sending of the request. After a late answer it begins turns too late; if it is then cut off, it continues after the leader has reassigned its actors: two activations at once.",
    knownFrom: OURS,
    guard: "src/placement/host/membership.test.ts",
    changes: [
      {
        file: "src/placement/host/lease-keeper.ts",
        before: "this.#lease.renewed(sequence);",
        after: "this.#lease.renewed(this.#lease.renewing(clock.monotonic(), clock.now()));",
      },
    ],
  },
  {
    name: "sleep-goes-unnoticed",
    family: "rejected design",
    story:
      "Leases are counted on the monotonic clock alone, which stands still while a machine sleeps. A host that was suspended for longer than its lease goes on as if nothing had happened: two activations at once, and answers from a host without a lease.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/model/host-lease.ts",
        before: "return mono < this.#beginMono && wall < this.#beginWall;",
        after: "return mono < this.#beginMono;",
      },
      {
        file: "src/placement/model/host-lease.ts",
        before: "return mono < this.#endMono && wall < this.#endWall;",
        after: "return mono < this.#endMono;",
      },
    ],
  },
  {
    name: "slept-leader-trusts-its-old-term",
    family: "rejected design",
    story:
      "A host that slept through its lease goes on because its leader, which slept in the same process, knows of no other one. The store is not asked whether another scheduler led meanwhile and reassigned the actors: two activations at once.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/leader/election.ts",
        before: "const isNewest = this.#deps.coordination.persist(term, []);",
        after: "const isNewest = Promise.resolve(true);",
      },
    ],
    guard: "sim/slept-leader.test.ts",
  },
  {
    name: "closed-stream-means-dead",
    family: "rejected design",
    story:
      "The leader considers a host dead when its stream ends, and reassigns its actors at once. The host runs them until it is notified: two activations at once whenever a stream breaks.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/model/namespace-controller.ts",
        before: `if (nothing || this.#settings.failover === "fast") this.#remove(`,
        after: "if (nothing || host.stream === undefined) this.#remove(",
      },
    ],
  },
  {
    name: "takeover-without-waiting",
    family: "rejected design",
    story:
      "A new leader does not wait for the leases that its predecessor granted. Hosts that do not report at the same moment are removed, and their actors become active elsewhere while they still run: two activations at once after each change of leader.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/leader/leader-term.ts",
        before: "const until = deps.clock.monotonic() + waitMs;",
        after: "const until = deps.clock.monotonic();",
      },
    ],
  },
  {
    name: "leader-outlives-its-lease",
    family: "rejected design",
    story:
      "A leader continues until the store ends its leadership, also after its lease has ended. While it cannot reach the store, and another scheduler can, two schedulers lead at once; hosts of both hold the same actors when that takes longer than a lease.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/placement/leader/election.ts",
        before: "return this.#lease.lasts(clock.monotonic(), clock.now());",
        after: "return this.#lease.held;",
      },
      {
        file: "src/placement/leader/election.ts",
        before: `if (this.#lasts()) this.#watchEnd();
        else this.#giveUp("it could not be kept up");`,
        after: "",
      },
    ],
  },
  {
    name: "leadership-taken-too-early",
    family: "rejected design",
    story:
      "The store gives the leadership to another scheduler when half of the lease has passed. A leader whose request to the store is a little late considers itself the leader while another one leads.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/stores/leadership.ts",
        before: "if (holder === undefined || isGone(holder)) {",
        after: `const isLate = holder !== undefined && holder.until - holder.leaseMs / 2 <= now;
    if (holder === undefined || isGone(holder) || (isLate && holder.incarnation !== incarnation)) {`,
      },
    ],
  },
  {
    name: "leader-renews-after-its-own-lease",
    family: "rejected design",
    story:
      "A leader whose own lease is over still answers hosts that renew theirs. The next leader waits only for the leases it knows, and reassigns actors that such a host still runs.",
    knownFrom: "a mutation that no unit test noticed",
    guard: "src/placement/leader/leader-term.test.ts",
    changes: [
      {
        file: "src/placement/leader/leader-term.ts",
        before: `  #feed(namespace: string, input: (now: number) => Effect[]): void {
    if (!this.#mayDecide()) return;`,
        after: `  #feed(namespace: string, input: (now: number) => Effect[]): void {
    if (this.#over) return;`,
      },
    ],
  },
];
