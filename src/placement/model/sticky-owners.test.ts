import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { LostRule, TableHost } from "../../ports/control-messages.ts";
import { StickyOwners } from "./sticky-owners.ts";

const host = (name: string, start = 1): TableHost => ({
  name,
  address: `10.0.0.${name.charCodeAt(0) - 96}:7401`,
  incarnation: `${name}-${start}`,
});
const [a, b, c] = [host("a"), host("b"), host("c")];
const ours = new Map<string, LostRule>([["Cart", 0]]);
const nobody = (): boolean => false;

function owners(rule: LostRule = 0): StickyOwners {
  const table = new StickyOwners();
  table.agree(["Cart"], new Map([["Cart", rule]]), nobody);
  for (const one of [a, b, c]) {
    table.hostJoined(one);
    table.claimed(one);
  }
  return table;
}

const tableOf = (...hosts: TableHost[]) => ({
  lists: (incarnation: string) => hosts.some((one) => one.incarnation === incarnation),
  named: (name: string) => hosts.find((one) => one.name === name),
});
const everybody = tableOf(a, b, c);
const claim = (table: StickyOwners, who: TableHost, type: string, ids: string[]) =>
  table.claims(
    who,
    type,
    ids,
    ids.map(() => 0),
  );
const ask = (table: StickyOwners, who: TableHost, id: string, now = 0, listed = everybody) =>
  table.acquire(who, { type: "Cart", id, since: now }, listed, now);

describe("sticky owners", () => {
  it("an actor goes to the first host that asks, and other hosts get that owner as the answer", () => {
    const table = owners();
    assert.deepEqual(ask(table, a, "x"), { kind: "granted" });
    assert.deepEqual(ask(table, a, "x"), { kind: "granted" });
    assert.deepEqual(ask(table, b, "x"), { kind: "owner", host: a, isUnaware: false });
    assert.equal(table.size("Cart"), 1);
  });

  it("types that are not sticky have no owners", () => {
    const table = owners();
    const { kind } = table.acquire(a, { type: "Order", id: "x", since: 0 }, everybody, 0);
    assert.equal(kind, "refused");
    assert.deepEqual(claim(table, a, "Order", ["x"]), ["x"]);
    assert.equal(table.released(a, "Order", ["x"]), 0);
  });

  it("nothing is granted while a new leader does not know all owners", () => {
    const table = new StickyOwners();
    table.agree(["Cart"], ours, nobody);
    table.expect(a.incarnation, ["Cart"]);
    assert.equal(table.isOpen("Cart"), false);
    assert.equal(table.isOpen("Order"), true);
    assert.deepEqual(ask(table, b, "x"), { kind: "later" });
    table.hostJoined(a);
    assert.deepEqual(claim(table, a, "Cart", ["x"]), []);
    assert.equal(table.isOpen("Cart"), false);
    table.claimed(a);
    assert.equal(table.isOpen("Cart"), true);
    assert.deepEqual(ask(table, b, "x"), { kind: "owner", host: a, isUnaware: false });
  });

  it("an actor is freed by its owner, and by no other host", () => {
    const table = owners();
    ask(table, a, "x");
    assert.equal(table.released(b, "Cart", ["x"]), 0);
    assert.equal(table.released(a, "Cart", ["x", "never"]), 1);
    assert.deepEqual(ask(table, b, "x"), { kind: "granted" });
  });

  it("actors that a host does not claim again on its next stream are free, and claimed ones stay", () => {
    const table = owners();
    for (const id of ["x", "y"]) ask(table, a, id);
    table.hostJoined(a);
    claim(table, a, "Cart", ["x"]);
    // The claims are not complete yet: actors that the host may still hold are not granted to others.
    assert.deepEqual(ask(table, b, "y"), { kind: "owner", host: a, isUnaware: false });
    table.claimed(a);
    assert.deepEqual(ask(table, b, "x"), { kind: "owner", host: a, isUnaware: false });
    assert.deepEqual(ask(table, b, "y"), { kind: "granted" });
  });

  it("a host must let go of an actor that another host was granted meanwhile", () => {
    const table = owners();
    ask(table, a, "x");
    table.hostJoined(b);
    assert.deepEqual(claim(table, b, "Cart", ["x", "z"]), ["x"]);
    table.claimed(b);
    assert.deepEqual(ask(table, c, "x"), { kind: "owner", host: a, isUnaware: false });
    assert.deepEqual(ask(table, c, "z"), { kind: "owner", host: b, isUnaware: false });
  });

  it("an actor that a host claims twice is counted once", () => {
    const table = owners();
    table.hostJoined(a);
    for (let i = 0; i < 3; i++) assert.deepEqual(claim(table, a, "Cart", ["x", "x"]), []);
    table.claimed(a);
    assert.equal(table.size("Cart"), 1);
    table.gone(a, true, 0);
    assert.equal(table.size("Cart"), 0);
  });

  it("the actors of a lost host are free at once, unless the type has another rule", () => {
    const table = owners();
    ask(table, a, "x");
    assert.deepEqual(table.gone(a, true, 0), new Map([["Cart", 1]]));
    assert.deepEqual(ask(table, b, "x"), { kind: "granted" });
  });

  it("the actors of a lost host are reserved for as long as their type demands", () => {
    const table = owners(30_000);
    ask(table, a, "x");
    table.gone(a, true, 1_000);
    const away = ask(table, b, "x", 30_999, tableOf(b));
    assert.ok(away.kind === "refused" && away.code === "OWNER_AWAY" && away.why.includes("the host a,"));
    assert.equal(table.deadline, 31_000);
    assert.deepEqual(table.tick(31_000), new Map([["Cart", 1]]));
    assert.equal(table.size("Cart"), 0);
    assert.deepEqual(ask(table, b, "x", 31_000, tableOf(b)), { kind: "granted" });
  });

  it("the actors of a lost host go to the next host of its name, which is notified", () => {
    const table = owners("never");
    for (const id of ["x", "y"]) ask(table, a, id);
    table.gone(a, true, 0);
    assert.equal(ask(table, b, "x", 10 ** 12, tableOf(b)).kind, "refused");
    const again = host("a", 2);
    table.hostJoined(again);
    table.claimed(again);
    const listed = tableOf(again, b);
    assert.deepEqual(ask(table, b, "x", 0, listed), { kind: "owner", host: again, isUnaware: true });
    assert.deepEqual(ask(table, b, "x", 0, listed), { kind: "owner", host: again, isUnaware: false });
    assert.deepEqual(ask(table, again, "y", 0, listed), { kind: "granted" });
  });

  it("an actor granted to an heir that never received the grant stays reserved for it", () => {
    const table = owners("never");
    for (const id of ["x", "y"]) ask(table, a, id);
    table.gone(a, true, 0);
    const again = host("a", 2);
    table.hostJoined(again);
    table.claimed(again);
    const listed = tableOf(again, b);
    for (const id of ["x", "y"]) assert.equal(ask(table, b, id, 0, listed).kind, "owner");
    // Its stream broke before the grant of x arrived; y it holds.
    table.hostJoined(again);
    claim(table, again, "Cart", ["y"]);
    table.claimed(again);
    assert.equal(ask(table, b, "x", 0, tableOf(b)).kind, "refused");
    assert.deepEqual(ask(table, b, "x", 0, listed), { kind: "owner", host: again, isUnaware: true });
    assert.deepEqual(ask(table, b, "y", 0, listed), { kind: "owner", host: again, isUnaware: false });
  });

  it("a request waits until an owner that no table lists has let go", () => {
    const table = owners();
    ask(table, a, "x");
    assert.deepEqual(ask(table, b, "x", 0, tableOf(b, c)), { kind: "later" });
    table.released(a, "Cart", ["x"]);
    assert.deepEqual(ask(table, b, "x", 0, tableOf(b, c)), { kind: "granted" });
  });

  it("a host with incomplete claims is granted nothing, because the grant would look like a released actor", () => {
    const table = owners();
    table.hostJoined(a);
    assert.deepEqual(ask(table, a, "x"), { kind: "later" });
    table.claimed(a);
    assert.deepEqual(ask(table, a, "x"), { kind: "granted" });
  });

  it("claims count while they are incomplete, and an actor that is not repeated is free only when they are complete", () => {
    const table = owners();
    for (const id of ["x", "y"]) ask(table, a, id);
    table.hostJoined(a);
    claim(table, a, "Cart", ["x"]);
    // Its stream breaks, and the host begins anew.
    table.hostJoined(a);
    for (const id of ["x", "y"]) assert.deepEqual(ask(table, b, id), { kind: "owner", host: a, isUnaware: false });
    assert.deepEqual(ask(table, b, "z"), { kind: "granted" });
    assert.deepEqual(claim(table, a, "Cart", ["y"]), []);
    for (const id of ["x", "y"]) assert.deepEqual(ask(table, b, id), { kind: "owner", host: a, isUnaware: false });
    table.claimed(a);
    assert.deepEqual(ask(table, b, "x"), { kind: "granted" });
    assert.deepEqual(ask(table, b, "y"), { kind: "owner", host: a, isUnaware: false });
  });

  it("an actor from a claim that the end of the stream interrupted is reserved for a lost host, too", () => {
    const table = owners("never");
    ask(table, a, "x");
    for (let i = 0; i < 3; i++) {
      table.hostJoined(a);
      claim(table, a, "Cart", ["x"]);
    }
    table.gone(a, true, 0);
    assert.equal(ask(table, b, "x", 0, tableOf(b)).kind, "refused");
    assert.equal(table.size("Cart"), 1);
  });

  it("a host may release an actor that it has just claimed", () => {
    const table = owners();
    ask(table, a, "x");
    table.hostJoined(a);
    claim(table, a, "Cart", ["x"]);
    assert.equal(table.released(a, "Cart", ["x"]), 1);
    table.claimed(a);
    assert.deepEqual(ask(table, b, "x"), { kind: "granted" });
  });

  it("actors are listed in order of id, page by page, with the moment since when they are held", () => {
    const table = owners();
    for (const [i, id] of ["d", "b", "a", "c"].entries()) ask(table, a, id, i);
    table.gone(b, true, 0);
    assert.deepEqual(
      table.list("Cart", "a", "", 2, 9).map(({ id, since }) => [id, since]),
      [
        ["b", 1],
        ["c", 3],
      ],
    );
    assert.deepEqual(table.holders("Cart", 9), [{ host: a, ids: 4, away: false }]);
    assert.deepEqual(table.find("Cart", "d", 9), { id: "d", host: a, since: 0, away: false });
  });

  it("actors of a host that left in an orderly way are not reserved", () => {
    const table = owners("never");
    ask(table, a, "x");
    table.gone(a, false, 0);
    assert.deepEqual(ask(table, b, "x"), { kind: "granted" });
  });

  it("all hosts of a type must have the same rule", () => {
    const table = owners();
    const hosted = (): boolean => true;
    assert.match(
      table.disagreement(["Cart"], new Map(), hosted) ?? "",
      /Cart is sticky on the other hosts and not sticky here/,
    );
    assert.match(table.disagreement(["Cart"], new Map([["Cart", "never"]]), hosted) ?? "", /and sticky for ever here/);
    assert.match(
      table.disagreement(["Order"], new Map([["Order", 0]]), hosted) ?? "",
      /Order is not sticky on the other/,
    );
    assert.equal(table.disagreement(["Cart"], ours, hosted), undefined);
    // No host is left that could disagree.
    assert.equal(table.disagreement(["Cart"], new Map([["Cart", 5_000]]), nobody), undefined);
    // Rules of a host that hands its types over do not change the rules of others.
    table.agree([], new Map([["Order", 0]]), hosted);
    assert.equal(table.isSticky("Order"), false);
    table.agree([], new Map([["Order", 0]]), nobody);
    assert.equal(table.isSticky("Order"), true);
  });

  it("sweeps remove garbage in small steps, and nothing else", () => {
    const table = owners();
    for (let i = 0; i < 20_000; i++) ask(table, i % 4 === 0 ? b : a, `id-${i}`);
    table.gone(a, true, 0);
    assert.equal(table.size("Cart"), 5_000);
    let ticks = 0;
    for (let now = 0; table.deadline !== Number.POSITIVE_INFINITY; now += 10) {
      table.tick(now);
      ticks++;
      assert.ok(ticks < 100);
    }
    assert.ok(ticks > 1);
    assert.equal(table.size("Cart"), 5_000);
    assert.equal(table.list("Cart", undefined, "", 10_000, 0).length, 5_000);
    assert.deepEqual(ask(table, c, "id-4"), { kind: "owner", host: b, isUnaware: false });
    assert.deepEqual(ask(table, c, "id-5"), { kind: "granted" });
  });

  it("an actor never has two owners, for any sequence of steps (model)", () => {
    const step = fc.record({
      what: fc.constantFrom("ask", "release", "lose", "leave", "reclaim", "interrupt", "tick"),
      who: fc.nat(2),
      id: fc.nat(5),
      some: fc.subarray([0, 1, 2, 3, 4, 5]),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const table = owners();
        const hosts = [a, b, c];
        let starts = 1;
        /** Hosts with incomplete claims. */
        const interrupted = new Set<string>();
        /** The expected owners, by the answers that hosts got. */
        const held = new Map<string, string>();
        for (const [now, { what, who, id, some }] of steps.entries()) {
          const one = hosts[who]!;
          const mine = (): string[] => [...held].filter(([, by]) => by === one.incarnation).map(([key]) => key);
          if (what === "ask") {
            const answer = ask(table, one, `${id}`, now, tableOf(...hosts));
            if (answer.kind === "granted") {
              assert.ok([undefined, one.incarnation].includes(held.get(`${id}`)), "somebody else holds it");
              held.set(`${id}`, one.incarnation);
            } else if (answer.kind === "later") {
              assert.ok(interrupted.has(one.incarnation), "who asks has said everything");
            } else {
              assert.ok(answer.kind === "owner");
              assert.equal(answer.host.incarnation, held.get(`${id}`));
            }
          } else if (what === "release") {
            table.released(one, "Cart", [`${id}`]);
            if (held.get(`${id}`) === one.incarnation) held.delete(`${id}`);
          } else if (what === "tick") {
            table.tick(now);
          } else if (what === "reclaim") {
            // The host has dropped all but some of its actors, and claims these on a new stream.
            const kept = mine().filter((key) => some.includes(Number(key)));
            for (const key of mine()) if (!kept.includes(key)) held.delete(key);
            interrupted.delete(one.incarnation);
            table.hostJoined(one);
            assert.deepEqual(claim(table, one, "Cart", kept), []);
            table.claimed(one);
          } else if (what === "interrupt") {
            table.hostJoined(one);
            const reported = mine().filter((key) => some.includes(Number(key)));
            assert.deepEqual(claim(table, one, "Cart", reported), []);
            interrupted.add(one.incarnation);
          } else {
            for (const key of mine()) held.delete(key);
            interrupted.delete(one.incarnation);
            table.gone(one, what === "lose", now);
            hosts[who] = host(one.name, ++starts);
            table.hostJoined(hosts[who]!);
            table.claimed(hosts[who]!);
          }
          assert.equal(table.size("Cart"), held.size);
        }
      }),
      { numRuns: 300 },
    );
  });
});
