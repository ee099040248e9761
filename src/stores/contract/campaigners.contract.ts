// Many schedulers at once, through every available store object. A term always has one leader. No result is
// older than one that was received before its request. No leader writes members after a later term has begun.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Candidate, Coordination, ElectionResult, Member } from "../../ports/store/coordination.ts";
import {
  type CoordinationHarness,
  deserted,
  HOUR,
  listedIn,
  newCandidate,
  newDedicated,
  newMember,
  save,
} from "./coordination-shared.contract.ts";

const CAMPAIGNERS = 6;

/** The steps of one scheduler, in sequence. */
const script = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.constant({ kind: "campaign" as const, dead: undefined }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("campaign" as const), dead: fc.nat(CAMPAIGNERS - 1) }) },
    { weight: 1, arbitrary: fc.constant({ kind: "resign" as const }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: HOUR }) }) },
    { weight: 2, arbitrary: fc.constant({ kind: "write" as const }) },
  ),
  { minLength: 10, maxLength: 20 },
);
type Act = typeof script extends fc.Arbitrary<(infer T)[]> ? T : never;

/** Collects every result and rejects impossible ones. */
class Witness {
  readonly #leaderOf = new Map<number, string>();
  #highest = 0;

  async receive(me: Candidate, ask: () => Promise<ElectionResult>): Promise<ElectionResult> {
    const floor = this.#highest;
    const standing = await ask();
    const { term, leading, leader, schedulers } = standing;
    assert.ok(term >= floor, `term ${term} after ${floor}`);
    this.#highest = Math.max(this.#highest, term);
    assert.equal(leading, leader?.incarnation === me.incarnation);
    assert.ok(listedIn(standing).includes(me.incarnation));
    assert.deepEqual(
      schedulers.filter((one) => one.leader).map(({ incarnation }) => incarnation),
      leader === undefined ? [] : [leader.incarnation],
    );
    if (leader !== undefined) {
      assert.equal(this.#leaderOf.get(term) ?? leader.incarnation, leader.incarnation, `term ${term} has two leaders`);
      this.#leaderOf.set(term, leader.incarnation);
    }
    return standing;
  }

  get terms(): number {
    return this.#leaderOf.size;
  }
}

/** The pid of a member is the term that saved it. */
const before = (term: number, members: readonly Member[]) => members.filter(({ pid }) => pid < term);

class Campaigner {
  readonly #coordination: Coordination;
  readonly #all: readonly Candidate[];
  readonly #me: Candidate;
  readonly #witness: Witness;
  readonly #advance: (ms: number) => Promise<void>;
  #term: number | undefined;

  constructor(
    coordination: Coordination,
    all: readonly Candidate[],
    me: Candidate,
    witness: Witness,
    advance: (ms: number) => Promise<void>,
  ) {
    this.#coordination = coordination;
    this.#all = all;
    this.#me = me;
    this.#witness = witness;
    this.#advance = advance;
  }

  async run(acts: readonly Act[]): Promise<void> {
    for (const act of acts) await this.#act(act);
  }

  async #act(act: Act): Promise<void> {
    switch (act.kind) {
      case "campaign": {
        const dead = act.dead === undefined ? [] : [this.#all[act.dead]!.incarnation];
        const { term, leading } = await this.#witness.receive(this.#me, () =>
          this.#coordination.campaign(this.#me, dead),
        );
        this.#term = leading ? term : undefined;
        return;
      }
      case "resign":
        this.#term = undefined;
        return this.#coordination.resign(this.#me.incarnation);
      case "pass":
        return this.#advance(act.ms);
      case "write":
        return this.#write();
    }
  }

  /** Writes of earlier terms stay as this leader found them, also when it has lost its term meanwhile. */
  async #write(): Promise<void> {
    const term = this.#term;
    if (term === undefined) return;
    const found = before(term, await this.#coordination.members());
    await this.#coordination.persist(term, [save(newMember({ pid: term }))]);
    assert.deepEqual(before(term, await this.#coordination.members()), found);
  }
}

export function campaignersContract(harness: CoordinationHarness): void {
  describe("many schedulers at once", () => {
    test("schedulers that campaign at the same moment have one leader among them", async () => {
      for (const dedicated of [false, true]) {
        const { coordination, term } = await deserted(harness);
        const all = Array.from({ length: 50 }, () => newCandidate({ dedicated }));
        const standings = await Promise.all(all.map((one) => coordination.campaign(one)));
        assert.equal(standings.filter(({ leading }) => leading).length, 1);
        assert.ok(standings.every((standing) => standing.term === term + 1));
        assert.equal(new Set(standings.map(({ leader }) => leader?.incarnation)).size, 1);
        assert.deepEqual(
          standings.map(({ schedulers }) => schedulers.length).sort((a, b) => a - b),
          all.map((_, i) => i + 1),
        );
      }
    });

    test("schedulers that take the leadership from each other in any way never share a term", async () => {
      const second = await harness.opened().second?.();
      let terms = 0;
      try {
        await fc.assert(
          fc.asyncProperty(fc.tuple(...Array<typeof script>(CAMPAIGNERS).fill(script)), async (scripts) => {
            const { coordination, advance } = await deserted(harness);
            const all = scripts.map((_, i) => (i < 2 ? newDedicated() : newCandidate()));
            const witness = new Witness();
            const objects = [coordination, second?.coordination ?? coordination];
            const campaigners = all.map((me, i) => new Campaigner(objects[i % 2]!, all, me, witness, advance));
            const ended = await Promise.allSettled(campaigners.map((one, i) => one.run(scripts[i]!)));
            for (const end of ended) if (end.status === "rejected") throw end.reason;
            terms += witness.terms;
          }),
          { numRuns: 10 },
        );
      } finally {
        await second?.close();
      }
      assert.ok(terms > 20, `only ${terms} terms were led`);
    });
  });
}
