// A lease as its host counts it: from the moment of the request, by the clock that shows more elapsed time.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { HostLease } from "./host-lease.ts";

const LEASE_MS = 10_000;
/** Unrelated to the monotonic clock. */
const WALL = 1_700_000_000_000;

class Watched {
  readonly lease = new HostLease();
  mono = 500;
  wall = WALL;

  constructor() {
    this.lease.length(LEASE_MS);
  }

  pass(ms: number): void {
    this.mono += ms;
    this.wall += ms;
  }

  ask(): number {
    return this.lease.renewing(this.mono, this.wall);
  }

  get state(): "begins" | "lasts" | "over" {
    if (this.lease.mayBegin(this.mono, this.wall)) {
      assert.ok(this.lease.lasts(this.mono, this.wall));
      return "begins";
    }
    return this.lease.lasts(this.mono, this.wall) ? "lasts" : "over";
  }
}

describe("the lease of a host", () => {
  it("a host has no lease before a renewal is answered", () => {
    const watched = new Watched();
    assert.equal(watched.state, "over");
    assert.equal(watched.lease.held, false);
    watched.ask();
    assert.equal(watched.state, "over");
    assert.equal(watched.lease.held, false);
  });

  it("a lease lets turns begin for 70 % of its length and lasts for 85 %, counted from when the renewal was sent", () => {
    const watched = new Watched();
    const sequence = watched.ask();
    watched.pass(3_000);
    watched.lease.renewed(sequence);
    assert.equal(watched.lease.held, true);
    assert.equal(watched.lease.endsAt, 9_000);
    assert.equal(watched.state, "begins");
    watched.pass(3_999);
    assert.equal(watched.state, "begins");
    watched.pass(1);
    assert.equal(watched.state, "lasts");
    watched.pass(1_499);
    assert.equal(watched.state, "lasts");
    watched.pass(1);
    assert.equal(watched.state, "over");
  });

  it("a lease is renewed five times within its length", () => {
    assert.equal(new Watched().lease.renewEveryMs, LEASE_MS / 5);
  });

  it("a lease is over at once when the answer is older than the lease", () => {
    const watched = new Watched();
    const sequence = watched.ask();
    watched.pass(LEASE_MS);
    watched.lease.renewed(sequence);
    assert.equal(watched.state, "over");
  });

  it("a lease is not shortened by an answer that overtakes an earlier one", () => {
    const watched = new Watched();
    const first = watched.ask();
    watched.pass(1_000);
    const second = watched.ask();
    watched.lease.renewed(second);
    const { endsAt } = watched.lease;
    watched.lease.renewed(first);
    assert.equal(watched.lease.endsAt, endsAt);
  });

  it("a lease is not prolonged by a repeated answer, or by an answer without a request", () => {
    const watched = new Watched();
    const sequence = watched.ask();
    watched.lease.renewed(sequence);
    const { endsAt } = watched.lease;
    watched.pass(5_000);
    for (const answer of [sequence, 0, -1, sequence + 1, Number.NaN]) watched.lease.renewed(answer);
    assert.equal(watched.lease.endsAt, endsAt);
  });

  it("a lease goes on from any of the last sixteen requests, and from none before", () => {
    const watched = new Watched();
    const [oldest, kept] = [watched.ask(), watched.ask()];
    for (let i = 0; i < 15; i++) {
      watched.pass(1);
      watched.ask();
    }
    watched.lease.renewed(oldest);
    assert.equal(watched.lease.held, false);
    watched.lease.renewed(kept);
    assert.equal(watched.lease.held, true);
  });

  it("a lease is over when the wall clock shows that the machine slept through its end", () => {
    const watched = new Watched();
    watched.lease.renewed(watched.ask());
    watched.mono += 1;
    watched.wall += 7_000;
    assert.equal(watched.state, "lasts");
    watched.wall += 1_500;
    assert.equal(watched.state, "over");
  });

  it("a lease lasts no longer when the wall clock is set back", () => {
    const watched = new Watched();
    watched.lease.renewed(watched.ask());
    watched.wall -= 3_600_000;
    assert.equal(watched.state, "begins");
    watched.mono += 7_000;
    assert.equal(watched.state, "lasts");
    watched.mono += 1_500;
    assert.equal(watched.state, "over");
  });

  it("a lease recovers with the next renewal after the wall clock was set forward", () => {
    const watched = new Watched();
    watched.lease.renewed(watched.ask());
    watched.wall += 3_600_000;
    assert.equal(watched.state, "over");
    watched.pass(100);
    watched.lease.renewed(watched.ask());
    assert.equal(watched.state, "begins");
  });

  it("a lost lease comes back only with a renewal sent afterwards", () => {
    const watched = new Watched();
    watched.lease.renewed(watched.ask());
    const inProgress = watched.ask();
    watched.pass(10);
    watched.lease.lost();
    assert.equal(watched.lease.held, false);
    assert.equal(watched.state, "over");
    watched.lease.renewed(inProgress);
    assert.equal(watched.state, "over");
    const later = watched.ask();
    assert.ok(later > inProgress);
    watched.lease.renewed(later);
    assert.equal(watched.state, "begins");
  });

  it("a lease keeps its end when the leader announces another length, until it is renewed", () => {
    const watched = new Watched();
    watched.lease.renewed(watched.ask());
    watched.lease.length(1_000);
    assert.equal(watched.lease.endsAt, 500 + 8_500);
    watched.pass(100);
    watched.lease.renewed(watched.ask());
    assert.equal(watched.lease.endsAt, 600 + 850);
  });

  it("a lease ends on the host before the leader gives anything away, for any delays and any clocks", () => {
    const step = fc.record({
      passes: fc.integer({ min: 0, max: 4_000 }),
      drift: fc.integer({ min: -20_000, max: 20_000 }),
      does: fc.constantFrom("ask", "hear", "answer"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const watched = new Watched();
        const asked: number[] = [];
        const answers: number[] = [];
        let leaseUntil = Number.NEGATIVE_INFINITY;
        for (const { passes, drift, does } of steps) {
          watched.pass(passes);
          watched.wall += drift;
          if (does === "ask") asked.push(watched.ask());
          if (does === "answer" && asked.length > 0) {
            answers.push(asked.shift()!);
            leaseUntil = watched.mono + LEASE_MS;
          }
          // Answers come in any order.
          if (does === "hear" && answers.length > 0)
            watched.lease.renewed(answers.splice(passes % answers.length, 1)[0]!);
          if (watched.state !== "over") assert.ok(watched.mono < leaseUntil - LEASE_MS * 0.15 + 1e-6);
        }
      }),
    );
  });
});
