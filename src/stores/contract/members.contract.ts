// Members: only the leader of the current term changes them, and they outlive every scheduler.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import {
  type CoordinationHarness,
  deserted,
  drop,
  HOUR,
  newCandidate,
  newMember,
  save,
} from "./coordination-shared.contract.ts";

export function membersContract(harness: CoordinationHarness): void {
  /** An empty store with a leader. */
  async function led() {
    const { coordination, advance } = await deserted(harness);
    const leader = newCandidate();
    const { term } = await coordination.campaign(leader);
    return { coordination, advance, leader, term };
  }

  describe("members", () => {
    test("members are stored whole, with every valid name of a type", async () => {
      const { coordination, term } = await led();
      const types = [
        "Cart",
        "",
        "ĉàrt",
        "🐚",
        "a,b",
        '"quoted"',
        "{}",
        "\\",
        "NULL",
        "\u0001\n",
        "\uffff",
        "\u{10ffff}",
      ];
      const odd = newMember({ types, namespace: "a 🐚", machine: "", address: "[::1]:7400", pid: 4_194_304 });
      const none = newMember({ types: [] });
      assert.equal(await coordination.persist(term, [save(odd)]), true);
      assert.equal(await coordination.persist(term, [save(none)]), true);
      assert.deepEqual(await coordination.members(), [odd, none]);
    });

    test("members are in the order of namespace, then incarnation, by code point", async () => {
      const { coordination, term } = await led();
      const words = ["b", "\u{1f41a}", "B", "\uff5e", "a", "ab"];
      const members = words.flatMap((namespace) =>
        words.map((incarnation) => newMember({ namespace, incarnation: `${incarnation}-${namespace}` })),
      );
      for (const member of members) await coordination.persist(term, [save(member)]);
      const bytes = ({ namespace, incarnation }: { namespace: string; incarnation: string }) =>
        Buffer.concat([Buffer.from(namespace), Buffer.alloc(1), Buffer.from(incarnation)]);
      assert.deepEqual(
        await coordination.members(),
        members.sort((a, b) => Buffer.compare(bytes(a), bytes(b))),
      );
    });

    test("members are replaced when they are saved again, and may be saved twice", async () => {
      const { coordination, term } = await led();
      const before = newMember();
      const after = { ...before, namespace: "other", address: "elsewhere", machine: "m", pid: 1, types: ["New"] };
      for (const member of [before, before, after, after]) assert.ok(await coordination.persist(term, [save(member)]));
      assert.deepEqual(await coordination.members(), [after]);
    });

    test("members are dropped by incarnation, and may be dropped twice", async () => {
      const { coordination, term } = await led();
      const [a, b, c] = [newMember(), newMember(), newMember()];
      for (const member of [a, b, c]) await coordination.persist(term, [save(member)]);
      assert.equal(await coordination.persist(term, []), true);
      const gone = [c.incarnation, "nobody", a.incarnation, a.incarnation];
      assert.equal(await coordination.persist(term, gone.map(drop)), true);
      assert.equal(await coordination.persist(term, gone.map(drop)), true);
      assert.deepEqual(await coordination.members(), [b]);
    });

    test("members are not changed by a term that is over, nor by a future one", async () => {
      const { coordination, term, leader } = await led();
      const member = newMember();
      await coordination.persist(term, [save(member)]);
      await coordination.campaign(newCandidate(), [leader.incarnation]);
      for (const wrong of [term - 1, term, term + 2]) {
        assert.equal(await coordination.persist(wrong, [save(newMember())]), false);
        assert.equal(await coordination.persist(wrong, [save({ ...member, types: [] })]), false);
        assert.equal(await coordination.persist(wrong, [drop(member.incarnation)]), false);
        assert.equal(await coordination.persist(wrong, []), false);
      }
      assert.deepEqual(await coordination.members(), [member]);
      assert.equal(await coordination.persist(term + 1, [drop(member.incarnation)]), true);
    });

    test("members can still be changed after the leadership ended or was given up, until the next term begins", async () => {
      for (const how of ["ran out", "given up"]) {
        const { coordination, advance, term, leader } = await led();
        const member = newMember();
        if (how === "ran out") await advance(1.1 * HOUR);
        else await coordination.resign(leader.incarnation);
        assert.equal(await coordination.persist(term, [save(member)]), true, how);
        assert.equal((await coordination.campaign(leader)).term, term + 1);
        assert.equal(await coordination.persist(term, [drop(member.incarnation)]), false, how);
        assert.deepEqual(await coordination.members(), [member]);
      }
    });

    test("members remove themselves, under every leader and without one", async () => {
      const { coordination, term } = await led();
      const [one, two, three] = [newMember(), newMember(), newMember()];
      for (const member of [one, two, three]) await coordination.persist(term, [save(member)]);
      await coordination.leave([two.incarnation, "never-there"]);
      assert.deepEqual(await coordination.members(), [one, three]);
      await coordination.leave([two.incarnation]);
      const { term: next } = await coordination.campaign(newCandidate({ dedicated: true }));
      assert.ok(next >= term);
      await coordination.leave([one.incarnation, three.incarnation]);
      assert.deepEqual(await coordination.members(), []);
    });

    test("members that have left are not restored by later writes of a leader about them", async () => {
      const { coordination, term } = await led();
      const member = newMember();
      await coordination.persist(term, [save(member)]);
      assert.equal(await coordination.persist(term, [save({ ...member, types: ["Kept"] }, true)]), true);
      assert.deepEqual(await coordination.members(), [{ ...member, types: ["Kept"] }]);
      await coordination.leave([member.incarnation]);
      assert.equal(await coordination.persist(term, [save({ ...member, types: ["Less"] }, true)]), true);
      assert.deepEqual(await coordination.members(), []);
      assert.equal(await coordination.persist(term + 1, [save(member, true)]), false);
    });

    test("members are there after every scheduler has left, for any store on the same data", async (t) => {
      const { coordination, advance, term } = await led();
      const member = newMember();
      await coordination.persist(term, [save(member)]);
      await advance(1_000 * HOUR);
      const second = await harness.opened().second?.();
      if (second === undefined) return t.skip("this store has no second process");
      try {
        assert.deepEqual(await second.coordination.members(), [member]);
        const next = await second.coordination.campaign(newCandidate());
        assert.equal(await coordination.persist(term, [save(newMember())]), false);
        assert.equal(await second.coordination.persist(next.term, [save({ ...member, types: ["Seen"] })]), true);
        assert.deepEqual(await coordination.members(), [{ ...member, types: ["Seen"] }]);
      } finally {
        await second.close();
      }
    });

    test("members may be changed in large steps", async () => {
      const { coordination, term } = await led();
      const all = Array.from({ length: LIMITS.memberChanges }, () => newMember());
      assert.equal(
        await coordination.persist(
          term,
          all.map((one) => save(one)),
        ),
        true,
      );
      assert.deepEqual(await coordination.members(), all);
      const [gone, changed, replaced, left, ...rest] = all;
      await coordination.leave([left!.incarnation]);
      const added = newMember();
      const changes = [
        save(added),
        save({ ...left!, types: ["Late"] }, true),
        save({ ...changed!, types: ["Changed"] }, true),
        drop(gone!.incarnation),
        save({ ...replaced!, types: ["Replaced"] }),
      ];
      assert.equal(await coordination.persist(term + 1, changes), false);
      assert.equal(await coordination.persist(term, changes), true);
      const now = [{ ...changed!, types: ["Changed"] }, { ...replaced!, types: ["Replaced"] }, ...rest, added];
      assert.deepEqual(await coordination.members(), now);
    });

    test("several changes of a member in one step have the effect of one after the other", async () => {
      const { coordination, term } = await led();
      const old = newMember({ types: ["Old"] });
      const { incarnation } = old;
      const [one, two] = [
        { ...old, types: ["One"] },
        { ...old, types: ["Two"] },
      ];
      const steps = [
        { changes: [save(one), save(two)], out: [two] },
        { changes: [save(one), drop(incarnation)], out: [] },
        { changes: [drop(incarnation), save(one)], out: [one] },
        { changes: [drop(incarnation), save(one, true)], out: [] },
        { changes: [save(one), save(two, true)], out: [two] },
        { changes: [save(one, true), save(two, true)], out: [two], ifAway: [] },
        { changes: [save(one, true), drop(incarnation), save(two)], out: [two] },
      ];
      for (const { changes, out, ifAway = out } of steps) {
        await coordination.persist(term, [save(old)]);
        assert.equal(await coordination.persist(term, changes), true);
        assert.deepEqual(await coordination.members(), out);
        await coordination.leave([incarnation]);
        assert.equal(await coordination.persist(term, changes), true);
        assert.deepEqual(await coordination.members(), ifAway);
      }
    });

    test("members may be saved by many requests at once", async () => {
      const { coordination, term } = await led();
      const members = Array.from({ length: 100 }, () => newMember());
      const saved = await Promise.all(members.map((member) => coordination.persist(term, [save(member)])));
      assert.ok(saved.every(Boolean));
      assert.deepEqual(await coordination.members(), members);
    });

    test("members have a limit: one too many is rejected, and existing ones can be changed", async () => {
      const opened = await harness.open();
      try {
        const { coordination } = opened.store;
        const { term } = await coordination.campaign(newCandidate());
        const known = newMember();
        await coordination.persist(term, [save(known)]);
        await opened.addMany(LIMITS.members - 1);
        const full = await coordination.members();
        const refusal = { code: "STORE_UNAVAILABLE", message: /more than 100000 members in the store/ };
        await assert.rejects(coordination.persist(term, [save(newMember())]), refusal);
        const changes = [save({ ...full[0]!, types: ["New"] }, true), drop(known.incarnation), save(newMember())];
        await assert.rejects(coordination.persist(term, [...changes, save(newMember())]), refusal);
        assert.deepEqual(await coordination.members(), full);
        assert.equal(await coordination.persist(term + 1, [save(newMember())]), false);
        assert.equal(await coordination.persist(term, [save({ ...known, types: [] })]), true);
        assert.equal((await coordination.members()).length, LIMITS.members);
        // A member that leaves makes room for a new one, in either order.
        assert.equal(await coordination.persist(term, [save(newMember()), drop(known.incarnation)]), true);
        assert.equal((await coordination.members()).length, LIMITS.members);
      } finally {
        await opened.dispose();
      }
    });
  });
}
