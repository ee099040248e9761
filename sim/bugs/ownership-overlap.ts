// Bugs of other systems by which two hosts hold the same actor. In each, one check is missing between the
// decision to move an actor and the end of the move.
import type { Bug } from "./bug.ts";

export const OWNERSHIP_OVERLAP: readonly Bug[] = [
  {
    name: "gone-after-a-fixed-time",
    family: "ownership overlap",
    story:
      "An actor that has to move counts as gone after a fixed time, although its call still runs. Two activations run at once whenever a turn takes longer than 20 ms during a move; the older one is fenced at its commit.",
    knownFrom: "Dapr #9514",
    changes: [
      {
        file: "src/actors/catalog.ts",
        before:
          'this.clock.after(timeoutMs, () => {\n        for (const mover of [...left]) mover.cutOff("moved", movedTooSlowly);',
        after: "this.clock.after(Math.min(timeoutMs, 20), () => {\n        resolve();",
      },
    ],
  },
  {
    name: "runs-what-it-does-not-own",
    family: "ownership overlap",
    story:
      "A host that gets a call for another host's actor activates the actor instead of rejecting the call. Two activations run at once while the tables of two hosts differ, and when a new owner asks the previous owner.",
    knownFrom: "Dapr #6968",
    changes: [
      {
        file: "src/actors/routing/router.ts",
        before: "if (route === HERE) return this.#activate(turn);",
        after: `if (route === HERE || (turn.rejectNotOwner !== undefined && typeof route === "string")) return this.#activate(turn);`,
      },
    ],
  },
  {
    name: "opens-before-handover",
    family: "ownership overlap",
    story:
      "A host considers itself the owner as soon as a new table names it, without waiting until the previous hosts have let go. Two activations run at once during every move of a busy actor.",
    knownFrom: "Orleans #5112",
    changes: [
      {
        file: "src/placement/model/host-tables.ts",
        before: "if (!state.locked) return HERE;",
        after: "return HERE;",
      },
    ],
  },
  {
    name: "goodbye-before-drained",
    family: "ownership overlap",
    story:
      "A host that stops sends its goodbye first and lets its calls end afterwards. Other hosts activate its actors while their last turns still run there: two activations at once in an orderly stop.",
    knownFrom: "Orleans #8658",
    changes: [
      {
        file: "src/placement/host/membership.ts",
        before: "this.report(this.#types.filter((type) => this.#tables.isOnlyHost(type)));",
        after: `this.#stream.send({ kind: "goodbye" });
      return;`,
      },
    ],
  },
  {
    name: "waking-actors-are-overlooked",
    family: "ownership overlap",
    story:
      "A move releases active actors and overlooks activating ones. They become active after the host has confirmed that nothing is left, beside the activations of the new owner: two activations at once.",
    knownFrom: "Orleans #10082",
    changes: [
      {
        file: "src/actors/catalog.ts",
        before: "filter(({ id }) => !stays(id));",
        after: `filter(({ id, phase }) => phase === "active" && !stays(id));`,
      },
    ],
  },
  {
    name: "absence-is-not-taken-for-leaving",
    family: "ownership overlap",
    story:
      "A host that a new table does not name at all keeps its actors and confirms. When it hands over its types or stops, its actors run there and at their new owners at once.",
    knownFrom: "Orleans #10262",
    changes: [
      {
        file: "src/placement/host/order-follower.ts",
        before: "return (id) => this.#tables.owner(name, id) === address;",
        after: `const isNamed = this.#tables.hosts(name).some((host) => host.address === address);
      return (id) => !isNamed || this.#tables.owner(name, id) === address;`,
      },
    ],
  },
  {
    name: "version-compared-after-assignment",
    family: "ownership overlap",
    story:
      "A table is installed before its version is checked, so an older one replaces a newer one. A host that reconnects during a round goes back to the previous table, unlocked, and activates actors that it has already given away: two activations at once.",
    knownFrom: "Dapr #9639, Orleans #8673",
    guard: "src/placement/model/host-tables.test.ts",
    changes: [
      {
        file: "src/placement/model/host-tables.ts",
        before: `const newer = compareVersions(table.version, state.newest?.version ?? NO_VERSION) > 0;
      if (newer) this.#replace(`,
        after: "this.#replace(",
      },
    ],
  },
  {
    name: "versions-without-terms",
    family: "ownership overlap",
    story:
      "Versions of tables are compared by their numbers alone. When a leader dies in a round, its successor uses the number again: some hosts keep the table of the dead leader and others take the new one. Hosts with the same version name different owners, and two activations run at once.",
    knownFrom: "Orleans #8673",
    changes: [
      {
        file: "src/kernel/versions.ts",
        before: "return a.term - b.term || a.number - b.number;",
        after: "return a.number - b.number;",
      },
    ],
  },
  {
    name: "majority-is-enough-after-takeover",
    family: "ownership overlap",
    story:
      "A new leader continues as soon as most of the hosts have reported. It reassigns the actors of the other hosts, which it merely cannot reach yet: two activations run at once until these hosts are notified.",
    knownFrom: "Akka #28856",
    changes: [
      {
        file: "src/placement/model/connection-controller.ts",
        before: `for (const { state, held } of this.#hosts.values()) if (state === "expected" && held.has(type)) return false;`,
        after: `const holders = this.holdersOf(type);
    const heard = holders.filter(({ state }) => state !== "expected");
    if (holders.length > 0 && heard.length * 2 <= holders.length) return false;`,
      },
      {
        file: "src/placement/model/type-rounds.ts",
        before: "const holders = this.#deps.connections.holdersOf(controller.type);",
        after: `const holders = this.#deps.connections.holdersOf(controller.type).filter(({ state }) => state !== "expected");`,
      },
    ],
  },
  {
    name: "leavers-are-not-waited-for",
    family: "ownership overlap",
    story:
      "A round waits for the hosts of the new table and not for the hosts of the previous one. When hosts leave, others begin before they have let go: two activations at once.",
    knownFrom: "Akka #27487",
    changes: [
      {
        file: "src/placement/model/actor-type-controller.ts",
        before: "new Set([...this.#holders, ...this.#wanted.keys()]);",
        after: "new Set(this.#wanted.keys());",
      },
    ],
  },
  {
    name: "granted-before-persisted",
    family: "ownership overlap",
    story:
      "The leader counts a host in while the write of its row is still in flight, and does not check the result. The next leader does not know that host and reassigns its actors at once: two activations run until the host is notified. Right after joining, a host is also missing among the stored members.",
    knownFrom: "Akka.Management #3402",
    changes: [
      {
        file: "src/placement/leader/member-writes.ts",
        before: `const isCurrent = await this.#deps.coordination.persist(this.term, changes);
        if (!isCurrent) return this.#deps.over("another scheduler leads by now");`,
        after: "const noting = this.#deps.coordination.persist(this.term, changes);",
      },
      {
        file: "src/placement/leader/member-writes.ts",
        before: `written();
        }`,
        after: `written();
        }
        await noting;`,
      },
      {
        file: "src/placement/leader/member-writes.ts",
        before: `await new Promise<void>((resolve) => this.#deps.clock.after(RETRY_MS, resolve, "background"));`,
        after: "",
      },
    ],
  },
  {
    name: "ring-of-other-hosts",
    family: "ownership overlap",
    story:
      "A ring is reused for other hosts when their number is the same. Hosts with the same table compute different owners, depending on earlier tables: calls go to ended hosts, and two activations run at once.",
    knownFrom: "Orleans #9855",
    changes: [
      {
        file: "src/placement/model/ring.ts",
        before: "sameList(ring.addresses, wanted)",
        after: "ring.addresses.length === wanted.length",
      },
    ],
  },
  {
    name: "unlocked-by-timeout",
    family: "ownership overlap",
    story:
      "A round that waits too long, here a tenth of the round timeout, is unlocked without the missing confirmations, and no host is evicted for it. A host that is slow to let go still runs its actors when others begin: two activations at once when a turn takes long during a move, or a host is unreachable.",
    knownFrom: "Dapr #10370",
    changes: [
      {
        file: "src/placement/model/actor-type-controller.ts",
        before: "lateAt: now + roundTimeoutMs,",
        after: "lateAt: now + roundTimeoutMs / 10,",
      },
      {
        file: "src/placement/model/actor-type-controller.ts",
        before: `return [{ kind: "late", incarnations: [...round.waiting] }];`,
        after: `round.waiting.clear();
    return this.#advance(now);`,
      },
      {
        file: "src/placement/model/type-rounds.ts",
        before: "for (const request of controller.tick(now)) {",
        after: `const requests = controller.tick(now);
      this.grant(controller, requests, effects);
      for (const request of requests) {`,
      },
    ],
  },
  {
    name: "lease-watched-by-a-timer-only",
    family: "ownership overlap",
    story:
      "A host that has lost its lease continues until a timer fires; there is no check before a turn begins or commits. After a pause, and longer after a suspend, it begins turns in activations that others have replaced, and answers from their state: two activations at once, and stale reads.",
    knownFrom: "Temporal #5176",
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
    ],
  },
  {
    name: "stopping-host-answers-gone",
    family: "ownership overlap",
    story:
      "A host that stops answers for every actor that the actor is gone, even while its last turn still runs. If that actor is about to move, its new owner activates it: two activations at once in an orderly stop.",
    knownFrom: "ourselves",
    guard: "sim/stories/stopping-host-answers-gone.json",
    changes: [
      {
        file: "src/actors/routing/inbound-calls.ts",
        before: "catalog.stopping ? this.#lastOwner(type, id) :",
        after: "catalog.stopping ? { ...placement.cachedOwner(type, id), owner: undefined } :",
      },
    ],
  },
  {
    name: "dedicated-leader-takes-over-too-early",
    family: "ownership overlap",
    story:
      "A dedicated scheduler that takes the leadership from an embedded one waits for the leases that were valid when the term ended, and not for leases granted until the embedded one learned of it. A host that is then cut off still runs its actors when they are reassigned: two activations at once.",
    knownFrom: "ourselves",
    guard: "src/placement/leader/election.test.ts",
    changes: [
      {
        file: "src/placement/leader/election.ts",
        before: "return this.#settings.dedicated ? this.#settings.leaderLeaseMs : 0;",
        after: "return 0;",
      },
    ],
  },
];
