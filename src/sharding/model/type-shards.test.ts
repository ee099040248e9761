import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { ShardEffect, ShardSettings } from "./shard-effects.ts";
import { TypeShards } from "./type-shards.ts";

const SETTINGS: ShardSettings = {
  shards: 100,
  movesAtOnce: 3,
  rebalanceMs: 10_000,
  handOffMs: 5_000,
  chooseMs: 1_000,
  minHosts: 1,
  startMs: 10_000,
};

const host = (incarnation: string) => ({ incarnation, address: `${incarnation}:1`, name: incarnation, build: "1" });

function shardsOf(
  hosts: readonly string[],
  homes: readonly (readonly [number, string])[] = [],
  settings = SETTINGS,
): TypeShards {
  const shards = new TypeShards(settings, homes, 0);
  shards.setRegions(hosts.map(host), 0);
  return shards;
}

const kinds = (effects: readonly ShardEffect[]): string[] => effects.map(({ kind }) => kind);

/** Until its home is durable. */
function settle(shards: TypeShards, shard: number, home: string, asker = home): ShardEffect[] {
  shards.requested(shard, asker, 0);
  shards.allocated(shard, home);
  return shards.persisted(shard, home, 0);
}

function moveOf(effects: readonly ShardEffect[]): number {
  const found = effects.find((one) => one.kind === "beginHandOff");
  assert.ok(found !== undefined);
  return found.move;
}

/** No host buffers calls, and no actor runs. Returns the shards that were moved. */
function comeToTheirEnd(shards: TypeShards, effects: readonly ShardEffect[], now: number): number[] {
  const moved: number[] = [];
  const queue = [...effects];
  for (let effect = queue.shift(); effect !== undefined; effect = queue.shift()) {
    if (effect.kind === "beginHandOff") queue.push(...shards.handOffBegun(effect.shard, effect.move, []));
    if (effect.kind === "handOff")
      queue.push(...shards.shardStopped(effect.shard, effect.move, effect.host, false, now));
    if (effect.kind === "persist") queue.push(...shards.persisted(effect.shard, effect.host, now));
    if (effect.kind === "moved") moved.push(effect.shard);
  }
  return moved;
}

describe("the home of a shard", () => {
  it("a home is chosen at the first request, persisted, and then announced to the asking host and to itself", () => {
    const shards = shardsOf(["a", "b"]);
    assert.deepEqual(shards.requested(7, "a", 0), [{ kind: "allocate", shard: 7, asker: "a" }]);
    assert.deepEqual(shards.requested(7, "c", 0), []);
    assert.deepEqual(shards.allocated(7, "b"), [{ kind: "persist", shard: 7, host: "b" }]);
    assert.deepEqual(shards.requested(7, "d", 0), []);
    assert.deepEqual(shards.persisted(7, "b", 0), [{ kind: "home", shard: 7, host: "b", to: ["a", "c", "d", "b"] }]);
    assert.deepEqual(shards.requested(7, "e", 0), [{ kind: "home", shard: 7, host: "b", to: ["e"] }]);
  });

  it("a home is known to the next leader, which announces it at once", () => {
    const shards = shardsOf(["a"], [[7, "b"]]);
    assert.deepEqual(shards.requested(7, "a", 0), [{ kind: "home", shard: 7, host: "b", to: ["a"] }]);
  });

  it("the host with the fewest shards is the home when a strategy gives no usable answer", () => {
    const shards = shardsOf(["a", "b"], [[1, "a"]]);
    shards.requested(7, "a", 0);
    assert.deepEqual(shards.allocated(7, "stranger"), [{ kind: "persist", shard: 7, host: "b" }]);
    shards.requested(8, "a", 0);
    assert.ok(!kinds(shards.tick(999)).includes("persist"));
    assert.deepEqual(kinds(shards.tick(1_000)), ["persist"]);
    assert.deepEqual(shards.allocated(8, "b"), [], "what comes too late changes nothing");
  });

  it("a shard has no home while the type has no host; the asking host is notified, and may ask again", () => {
    const shards = shardsOf([]);
    assert.deepEqual(shards.requested(7, "a", 0), [{ kind: "noHome", shard: 7, to: ["a"] }]);
    shards.setRegions([host("b")], 0);
    assert.deepEqual(kinds(shards.requested(7, "a", 0)), ["allocate"]);
  });

  it("a shard is free when its host is gone, and that is persisted", () => {
    const shards = shardsOf(["a", "b"]);
    settle(shards, 7, "a");
    assert.deepEqual(shards.gone("a", 0), [{ kind: "persist", shard: 7, host: undefined }]);
    assert.deepEqual(shards.requested(7, "b", 0), [{ kind: "allocate", shard: 7, asker: "b" }]);
  });

  it("a home is chosen anew when the chosen host is gone before it is durable", () => {
    const shards = shardsOf(["a", "b"]);
    shards.requested(7, "b", 0);
    shards.allocated(7, "a");
    assert.deepEqual(shards.gone("a", 0), []);
    assert.deepEqual(shards.persisted(7, "a", 0), [{ kind: "allocate", shard: 7, asker: "b" }]);
  });
});

describe("a move", () => {
  it("a move begins when all hosts buffer calls, ends when the home has let go, and announces no home meanwhile", () => {
    const shards = shardsOf(["a", "b"]);
    settle(shards, 7, "a");
    const effects = shards.movesProposed([{ shard: 7, to: "b" }], 100);
    const move = moveOf(effects);
    assert.deepEqual(shards.handOffBegun(7, move, ["a", "b", "c"]), []);
    assert.deepEqual(shards.requested(7, "c", 100), []);
    assert.deepEqual(shards.handOffAcked(7, move, "a"), []);
    assert.deepEqual(shards.handOffAcked(7, move, "c"), []);
    assert.deepEqual(shards.handOffAcked(7, move, "b"), [{ kind: "handOff", shard: 7, move, host: "a", to: "b" }]);
    assert.deepEqual(shards.requested(7, "b", 100), []);
    assert.deepEqual(shards.shardStopped(7, move, "b", false, 150), [], "only its home can say so");
    assert.deepEqual(shards.shardStopped(7, move, "a", false, 150), [{ kind: "persist", shard: 7, host: "b" }]);
    assert.deepEqual(shards.persisted(7, "b", 160), [
      { kind: "home", shard: 7, host: "b", to: ["a", "b", "c"] },
      { kind: "moved", shard: 7, from: "a", to: "b", reason: "balance", tookMs: 60, wasForced: false },
    ]);
  });

  it("a move does not wait for a host that is gone or has no stream, and waits for a silent one only for a limited time", () => {
    for (const end of ["gone", "streamLost", "late"]) {
      const shards = shardsOf(["a", "b", "c"]);
      settle(shards, 7, "a");
      const move = moveOf(shards.movesProposed([{ shard: 7, to: "b" }], 0));
      shards.handOffBegun(7, move, ["a", "c"]);
      shards.handOffAcked(7, move, "a");
      const effects =
        end === "gone" ? shards.gone("c", 1) : end === "streamLost" ? shards.streamLost("c") : shards.tick(5_000);
      assert.ok(kinds(effects).includes("handOff"), end);
    }
  });

  it("a report about a finished move of an earlier leader is answered with the current home", () => {
    const shards = shardsOf(["a", "b"], [[7, "a"]]);
    assert.deepEqual(shards.shardStopped(7, 3, "a", false, 0), [{ kind: "home", shard: 7, host: "a", to: ["a"] }]);
  });

  it("a move is not ended by a message of the same host about an earlier move of the shard", () => {
    const shards = shardsOf(["a", "b"], [[7, "a"]]);
    const move = (to: string): number => {
      const effects = shards.moveByHand(7, to, 0)!;
      shards.handOffBegun(7, moveOf(effects), []);
      return moveOf(effects);
    };
    const first = move("b");
    shards.shardStopped(7, first, "a", false, 0);
    shards.persisted(7, "b", 0);
    shards.shardStopped(7, move("a"), "b", false, 0);
    shards.persisted(7, "a", 0);
    const last = move("b");
    assert.deepEqual(shards.moves()[0]?.phase, "stopping");
    // The home that has not let go yet is asked to, and stays the home until it has.
    assert.deepEqual(shards.shardStopped(7, first, "a", false, 0), [
      { kind: "handOff", shard: 7, move: last, host: "a", to: "b" },
    ]);
    assert.equal(shards.homeOf(7), "a");
    assert.deepEqual(shards.persisted(7, "b", 0), []);
    assert.deepEqual(kinds(shards.shardStopped(7, last, "a", false, 0)), ["persist"]);
  });

  it("a shard moves to another host when its new home is gone meanwhile", () => {
    const shards = shardsOf(["a", "b", "c"]);
    settle(shards, 7, "a");
    const move = moveOf(shards.movesProposed([{ shard: 7, to: "b" }], 0));
    shards.handOffBegun(7, move, []);
    shards.gone("b", 1);
    assert.deepEqual(kinds(shards.shardStopped(7, move, "a", false, 2)), ["allocate"]);
  });

  it("a move without a target has no asking host, although all hosts wait for it", () => {
    const shards = shardsOf(["a", "b", "c"]);
    settle(shards, 7, "a");
    const move = moveOf(shards.setRegions([host("b"), host("c")], 0));
    shards.handOffBegun(7, move, ["b", "c"]);
    for (const name of ["b", "c"]) shards.handOffAcked(7, move, name);
    assert.deepEqual(shards.shardStopped(7, move, "a", false, 1), [{ kind: "allocate", shard: 7, asker: undefined }]);
  });

  it("a move is over at once when the home that should let go is gone", () => {
    for (const phase of ["buffering", "stopping"]) {
      const shards = shardsOf(["a", "b"]);
      settle(shards, 7, "a");
      const move = moveOf(shards.movesProposed([{ shard: 7, to: "b" }], 0));
      shards.handOffBegun(7, move, phase === "buffering" ? ["b"] : []);
      assert.deepEqual(shards.gone("a", 1), [{ kind: "persist", shard: 7, host: "b" }], phase);
    }
  });

  it("no more shards move at the same time than allowed, and the rest follow", () => {
    const shards = shardsOf(["a", "b"]);
    for (let shard = 0; shard < 30; shard++) settle(shards, shard, "a");
    const moves = Array.from({ length: 30 }, (_, shard) => ({ shard, to: "b" }));
    const left = new Set(shards.homes.keys());
    const under: ShardEffect[] = [...shards.movesProposed(moves, 0)];
    let most = 0;
    for (let now = 1; left.size > 0 && now < 5_000; now++) {
      under.push(...shards.tick(now).filter(({ kind }) => kind === "beginHandOff"));
      most = Math.max(most, shards.moving.size);
      // Each move takes a while.
      if (now % 20 === 0) for (const shard of comeToTheirEnd(shards, under.splice(0, 1), now)) left.delete(shard);
    }
    assert.deepEqual([left.size, most], [0, 3]);
  });

  it("the next round follows when all moves of a round are over, until nothing is left to move", () => {
    const shards = shardsOf(["a", "b"]);
    for (let shard = 0; shard < 10; shard++) settle(shards, shard, "a");
    const left = new Set(shards.homes.keys());
    let [now, rounds] = [0, 0];
    while (now < 5_000 && left.size > 0) {
      now = shards.deadline;
      const effects = shards.tick(now);
      if (kinds(effects).includes("proposeMoves")) {
        rounds++;
        // At most three in one round.
        const some = [...left].slice(0, 3).map((shard) => ({ shard, to: "b" }));
        effects.push(...shards.movesProposed(some, now));
      }
      for (const shard of comeToTheirEnd(shards, effects, now)) left.delete(shard);
    }
    assert.deepEqual([left.size, rounds], [0, 4]);
  });

  it("endless moves to and fro become rarer in the end", () => {
    const shards = shardsOf(["a", "b"]);
    settle(shards, 1, "a");
    let rounds = 0;
    for (let now = shards.deadline; now < 60_000; now = shards.deadline) {
      if (!kinds(shards.tick(now)).includes("proposeMoves")) continue;
      rounds++;
      const effects = shards.movesProposed([{ shard: 1, to: shards.homeOf(1) === "a" ? "b" : "a" }], now);
      comeToTheirEnd(shards, effects, now);
    }
    assert.ok(rounds > 200 && rounds < 210, `${rounds} rounds in a minute`);
  });

  it("all shards of a host that leaves move, a few at a time, until it has none", () => {
    const shards = shardsOf(["a", "b"]);
    for (let shard = 0; shard < 10; shard++) settle(shards, shard, "a");
    let effects = shards.setRegions([host("b")], 0);
    let moved = 0;
    while (effects.length > 0) {
      const next: ShardEffect[] = [];
      for (const effect of effects) {
        if (effect.kind === "beginHandOff") next.push(...shards.handOffBegun(effect.shard, effect.move, []));
        if (effect.kind === "handOff")
          next.push(...shards.shardStopped(effect.shard, effect.move, effect.host, false, 1));
        if (effect.kind === "allocate") next.push(...shards.allocated(effect.shard, "b"));
        if (effect.kind === "persist") next.push(...shards.persisted(effect.shard, effect.host, 2));
        if (effect.kind === "moved") moved++;
      }
      assert.ok(shards.moving.size <= 3);
      effects = next;
    }
    assert.equal(moved, 10);
    assert.deepEqual(new Set(shards.homes.values()), new Set(["b"]));
  });

  it("a move by hand ignores the limit, but a shard does not move to its own home, nor twice", () => {
    const shards = shardsOf(["a", "b"], [], { ...SETTINGS, movesAtOnce: 0 });
    settle(shards, 7, "a");
    assert.equal(shards.moveByHand(7, "a", 0), undefined);
    assert.equal(shards.moveByHand(7, "stranger", 0), undefined);
    assert.equal(shards.moveByHand(8, "b", 0), undefined);
    assert.deepEqual(kinds(shards.moveByHand(7, "b", 0)!), ["beginHandOff"]);
    assert.equal(shards.moveByHand(7, "b", 0), undefined);
  });

  it("no move is proposed while rebalancing is paused", () => {
    const shards = shardsOf(["a", "b"]);
    settle(shards, 7, "a");
    shards.pause(true, 0);
    assert.deepEqual(shards.tick(20_000), []);
    assert.deepEqual(shards.movesProposed([{ shard: 7, to: "b" }], 20_000), []);
    shards.pause(false, 20_001);
    assert.deepEqual(kinds(shards.tick(20_001)), ["proposeMoves"]);
  });
});

describe("the shards of a type under any sequence of events", () => {
  it("no home is announced before it is durable, nor a second one while the first may run actors", () => {
    const step = fc.record({
      what: fc.constantFrom(
        "ask",
        "allocate",
        "persist",
        "handOffBegun",
        "handOffAcked",
        "stopped",
        "gone",
        "streamLost",
        "join",
        "leave",
        "move",
        "tick",
      ),
      shard: fc.integer({ min: 0, max: 3 }),
      who: fc.integer({ min: 0, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const shards = shardsOf(["h0", "h1"]);
        const durable = new Map<number, string | undefined>();
        const persisting: { shard: number; host: string | undefined }[] = [];
        /**
         * The host that may run actors of a shard: notified that it is the home, and neither stopped nor gone
         * since.
         */
        const running = new Map<number, string>();
        const live = new Map([
          ["h0", true],
          ["h1", true],
        ]);
        const moves = new Map<number, number>();
        let now = 0;
        const perform = (effects: readonly ShardEffect[]): void => {
          for (const effect of effects) {
            if (effect.kind === "persist") persisting.push(effect);
            if (effect.kind === "beginHandOff" || effect.kind === "handOff") moves.set(effect.shard, effect.move);
            if (effect.kind !== "home") continue;
            assert.equal(durable.get(effect.shard), effect.host);
            const other = running.get(effect.shard);
            assert.ok(
              other === undefined || other === effect.host,
              `${effect.shard} runs on ${other} and ${effect.host}`,
            );
            running.set(effect.shard, effect.host);
          }
        };
        const regions = () => [...live].filter(([, stays]) => stays).map(([name]) => host(name));
        for (const { what, shard, who } of steps) {
          now += 100;
          const name = `h${who}`;
          const move = moves.get(shard) ?? 0;
          if (what === "ask") perform(shards.requested(shard, name, now));
          if (what === "allocate") perform(shards.allocated(shard, name));
          if (what === "handOffBegun") perform(shards.handOffBegun(shard, move, [...live.keys()]));
          if (what === "handOffAcked") perform(shards.handOffAcked(shard, move, name));
          if (what === "streamLost") perform(shards.streamLost(name));
          if (what === "tick") now += 3_000;
          if (what === "tick") perform(shards.tick(now));
          if (what === "move") perform(shards.moveByHand(shard, name, now) ?? []);
          if (what === "persist" && persisting.length > 0) {
            const one = persisting.shift()!;
            durable.set(one.shard, one.host);
            perform(shards.persisted(one.shard, one.host, now));
          }
          if (what === "stopped") {
            const effects = shards.shardStopped(shard, move, name, false, now);
            if (shards.homeOf(shard) === undefined) running.delete(shard);
            perform(effects);
          }
          if (what === "gone") {
            live.delete(name);
            for (const [one, runner] of running) if (runner === name) running.delete(one);
            perform(shards.gone(name, now));
          }
          if (what === "join" || what === "leave") {
            if (what === "join") live.set(name, true);
            else if (live.has(name)) live.set(name, false);
            perform(shards.setRegions(regions(), now));
          }
        }
        // Every requested shard has a home in the end, if there is a host.
        live.set("h9", true);
        perform(shards.setRegions(regions(), now));
        for (let i = 0; i < 400; i++) {
          now += 1_000;
          perform(shards.tick(now));
          for (const shard of [0, 1, 2, 3]) {
            const move = moves.get(shard) ?? 0;
            for (const name of [...live.keys()]) {
              perform(shards.handOffAcked(shard, move, name));
              const effects = shards.shardStopped(shard, move, name, false, now);
              if (shards.homeOf(shard) === undefined) running.delete(shard);
              perform(effects);
            }
            perform(shards.requested(shard, "h9", now));
            perform(shards.allocated(shard, "h9"));
          }
          for (const one of persisting.splice(0)) {
            durable.set(one.shard, one.host);
            perform(shards.persisted(one.shard, one.host, now));
          }
        }
        for (const shard of [0, 1, 2, 3])
          assert.ok(live.get(shards.homeOf(shard)!) === true, `${shard} at ${shards.homeOf(shard)}`);
      }),
      { numRuns: 500 },
    );
  });
});
