// Random stories against a model small enough to be obviously right: a few schedulers campaign, resign,
// report each other as dead and write members while time passes. The store must return the same results as
// the model.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Candidate, Coordination, ElectionResult, Member, MemberChange } from "../../ports/store/coordination.ts";
import {
  type CoordinationHarness,
  type CoordinationOptions,
  deserted,
  drop,
  entryOf,
  newCandidate,
  newDedicated,
  newMember,
  save,
} from "./coordination-shared.contract.ts";

const MINUTE = 60_000;
const SCHEDULERS = 4;
const MEMBERS = 3;

/** A right with an end: a place in the list, or the leadership. */
interface Right {
  readonly of: Candidate;
  left: number;
}

class Model {
  term: number;
  leader: Right | undefined;
  /** The longest host lease each term may have granted. */
  readonly #granted = new Map<number, number>();
  readonly #list = new Map<string, Right>();
  readonly members = new Map<string, Member>();

  constructor(term: number, granted: number) {
    this.term = term;
    this.#granted.set(term, granted);
  }

  pass(ms: number): void {
    for (const right of this.#list.values()) right.left -= ms;
    for (const [name, { left }] of this.#list) if (left <= 0) this.#list.delete(name);
    if (this.leader === undefined) return;
    this.leader.left -= ms;
    if (this.leader.left <= 0) this.leader = undefined;
  }

  leave(name: string): void {
    this.#list.delete(name);
    if (this.leader?.of.incarnation === name) this.leader = undefined;
  }

  change(one: MemberChange): void {
    if (one.kind === "drop") this.members.delete(one.incarnation);
    else if (!one.isKnown || this.members.has(one.member.incarnation)) {
      this.members.set(one.member.incarnation, one.member);
    }
  }

  campaign(me: Candidate, dead: readonly string[]): ElectionResult {
    for (const name of dead) if (name !== me.incarnation) this.leave(name);
    this.#list.set(me.incarnation, { of: me, left: me.leaseMs });
    const outranked = !me.dedicated && [...this.#list.values()].some(({ of }) => of.dedicated);
    if (outranked && this.leader?.of.incarnation === me.incarnation) this.leader = undefined;
    if (!outranked && this.leader === undefined) {
      this.term++;
      this.leader = { of: me, left: me.leaseMs };
    }
    const leading = this.leader?.of.incarnation === me.incarnation;
    if (leading) {
      this.leader = { of: me, left: me.leaseMs };
      this.#granted.set(this.term, Math.max(this.#granted.get(this.term) ?? 0, me.hostLeaseMs));
    }
    const listed = [...this.#list.values()].map(({ of }) => of);
    return {
      term: this.term,
      leading,
      schedulers: listed
        .sort((a, b) => (a.address < b.address ? -1 : 1))
        .map((one) => entryOf(one, one.incarnation === this.leader?.of.incarnation)),
      hostLeaseMs: Math.max(this.#granted.get(this.term) ?? 0, this.#granted.get(this.term - 1) ?? 0),
      leader: this.leader && entryOf(this.leader.of, true),
    };
  }
}

const scheduler = fc.nat(SCHEDULERS - 1);
const member = fc.nat(MEMBERS - 1);
const sooner = fc.constantFrom(0, 0, 0, -1, 1);
const change = fc.oneof(
  fc.record({ kind: fc.constant("save" as const), who: member, isKnown: fc.boolean(), types: fc.array(fc.string()) }),
  fc.record({ kind: fc.constant("drop" as const), who: member }),
);
const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant("campaign" as const),
      who: scheduler,
      dead: fc.oneof(
        { weight: 5, arbitrary: fc.constant<number[]>([]) },
        { weight: 1, arbitrary: fc.array(scheduler, { maxLength: 2 }) },
      ),
      // No sum of sevens comes within three minutes of either, so the real duration of a story makes no
      // difference.
      lease: fc.constantFrom(25, 60, 60),
      hostLeaseMs: fc.constantFrom(10, 20, 30),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("resign" as const), who: scheduler }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("pass" as const), sevens: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("note" as const), changes: fc.array(change), sooner }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("leave" as const), who: fc.array(member) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class Story {
  readonly #coordination: Coordination;
  readonly #advance: (ms: number) => Promise<void>;
  readonly #model: Model;
  readonly #schedulers = Array.from({ length: SCHEDULERS }, (_, i) => (i < 1 ? newDedicated() : newCandidate()));
  readonly #members = Array.from({ length: MEMBERS }, () => newMember());

  constructor(coordination: Coordination, advance: (ms: number) => Promise<void>, model: Model) {
    this.#coordination = coordination;
    this.#advance = advance;
    this.#model = model;
  }

  async take(step: Step): Promise<void> {
    const model = this.#model;
    switch (step.kind) {
      case "campaign": {
        const { hostLeaseMs } = step;
        const me = { ...this.#schedulers[step.who]!, leaseMs: step.lease * MINUTE, hostLeaseMs };
        const dead = step.dead.map((who) => this.#schedulers[who]!.incarnation);
        assert.deepEqual(await this.#coordination.campaign(me, dead), model.campaign(me, dead));
        return;
      }
      case "resign": {
        const { incarnation } = this.#schedulers[step.who]!;
        model.leave(incarnation);
        return this.#coordination.resign(incarnation);
      }
      case "pass":
        model.pass(step.sevens * 7 * MINUTE);
        return this.#advance(step.sevens * 7 * MINUTE);
      case "note": {
        const changes = step.changes.map((one) => {
          const of = this.#members[one.who]!;
          return one.kind === "save" ? save({ ...of, types: one.types }, one.isKnown) : drop(of.incarnation);
        });
        assert.equal(await this.#coordination.persist(model.term + step.sooner, changes), step.sooner === 0);
        if (step.sooner === 0) for (const one of changes) model.change(one);
        return;
      }
      case "leave": {
        const names = step.who.map((who) => this.#members[who]!.incarnation);
        for (const name of names) model.members.delete(name);
        return this.#coordination.leave(names);
      }
    }
  }

  async end(): Promise<void> {
    const expected = [...this.#model.members.values()].sort((a, b) => (a.incarnation < b.incarnation ? -1 : 1));
    assert.deepEqual(await this.#coordination.members(), expected);
  }
}

export function leadershipModelContract(harness: CoordinationHarness, options: CoordinationOptions): void {
  describe("model of coordination", () => {
    test("any story of schedulers goes as the model predicts", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
          const { coordination, advance, term, hostLeaseMs } = await deserted(harness);
          const story = new Story(coordination, advance, new Model(term, hostLeaseMs));
          // Before the first leader, a test cannot know the grants of the leader before the last one.
          await story.take({ kind: "campaign", who: 1, dead: [], lease: 25, hostLeaseMs: 10 });
          for (const one of steps) await story.take(one);
          await story.end();
        }),
        { numRuns: options.modelRuns ?? 100 },
      );
    });
  });
}
