import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor, type LimpetError } from "../../index.ts";
import { testLimpet } from "../../testing.ts";

type Route = readonly string[];

/** Calls the next actor on its route, and adds its own id to the result. */
class Strict extends Actor<{ visits: number }> {
  initial() {
    return { visits: 0 };
  }
  async walk([next, ...rest]: Route): Promise<string[]> {
    this.state.visits++;
    return [this.id, ...(next === undefined ? [] : await this.#step(next, rest))];
  }
  #step(next: string, rest: Route): Promise<string[]> {
    return next.startsWith("open") ? this.actor(Open, next).walk(rest) : this.actor(Strict, next).walk(rest);
  }
  visits() {
    return this.state.visits;
  }
}

class Open extends Strict {
  static options = { reentrant: true };
  async walkThenThrow(route: Route): Promise<void> {
    this.state.visits += 10;
    await this.walk(route);
    throw new Error("after all");
  }
  throwInside() {
    this.state.visits += 100;
    throw new Error("inside");
  }
  async surviveInside() {
    this.state.visits += 1;
    await this.actor(Open, this.id)
      .throwInside()
      .catch(() => {});
    this.state.visits += 1;
    return this.state.visits;
  }
  async fan(width: number) {
    const seen: string[] = [];
    await Promise.all(Array.from({ length: width }, (_, i) => this.actor(Open, this.id).slow(String(i), seen.length)));
    return this.state.visits;
  }
  async slow(_name: string, _before: number) {
    const before = this.state.visits;
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(this.state.visits, before, "turns inside one turn overlap");
    this.state.visits = before + 1;
  }
}

describe("a call that comes back to an actor in its own chain", () => {
  it("a call that comes back fails at once and shows the chain, if the type is not reentrant", async () => {
    await using app = await testLimpet({ actors: [Strict, Open] });
    await assert.rejects(app.actor(Strict, "a").walk(["b", "c", "a"]), (error: LimpetError) => {
      assert.equal(error.code, "CALL_CYCLE");
      assert.match(error.message, /Strict\/a\.walk → Strict\/b\.walk → Strict\/c\.walk → Strict\/a\.walk/);
      return true;
    });
    await assert.rejects(app.actor(Strict, "a").walk(["a"]), { code: "CALL_CYCLE" });
    assert.deepEqual(await app.actor(Strict, "a").walk(["b"]), ["a", "b"], "both are free again");
  });

  it("a call that comes back runs inside the waiting turn, if the type is reentrant", async () => {
    await using app = await testLimpet({ actors: [Strict, Open] });
    const route = ["open2", "strict", "open1", "open2"];
    assert.deepEqual(await app.actor(Open, "open1").walk(route), ["open1", ...route]);
    assert.equal(await app.actor(Open, "open1").visits(), 2);
    assert.equal(await app.actor(Open, "open2").visits(), 2);
  });

  it("a call of another chain waits like any other call", async () => {
    await using app = await testLimpet({ actors: [Strict, Open] });
    const calls = Array.from({ length: 5 }, () => app.actor(Open, "open1").walk(["s", "open1"]));
    for (const route of await Promise.all(calls)) assert.deepEqual(route, ["open1", "s", "open1"]);
    assert.equal(await app.actor(Open, "open1").visits(), 10);
  });

  it("a nested call is rolled back together with its outer turn", async () => {
    await using app = await testLimpet({ actors: [Strict, Open] });
    await assert.rejects(app.actor(Open, "open1").walkThenThrow(["s", "open1"]), { message: "after all" });
    assert.equal(await app.actor(Open, "open1").visits(), 0);
    assert.equal(await app.actor(Strict, "s").visits(), 1, "another actor's turn stands on its own");
  });

  it("a nested call that throws is rolled back alone, if the outer turn continues", async () => {
    await using app = await testLimpet({ actors: [Strict, Open] });
    assert.equal(await app.actor(Open, "open1").surviveInside(), 2);
    assert.equal(await app.actor(Open, "open1").visits(), 2);
  });

  it("several calls that come back to the same turn run one at a time", async () => {
    await using app = await testLimpet({ actors: [Open] });
    assert.equal(await app.actor(Open, "open1").fan(20), 20);
  });

  it("a call may come back 32 times and no more", async () => {
    await using app = await testLimpet({ actors: [Open] });
    const route = (times: number): string[] => Array.from({ length: times }, () => "open1");
    assert.equal((await app.actor(Open, "open1").walk(route(32))).length, 33);
    await assert.rejects(app.actor(Open, "open1").walk(route(33)), { code: "CALL_TOO_DEEP" });
    assert.equal(await app.actor(Open, "open1").visits(), 33);
  });
});

describe("a call chain", () => {
  it("a call chain through different actors is limited, and leaves no activation behind", async () => {
    await using app = await testLimpet({ actors: [Strict] });
    const route = (length: number): string[] => Array.from({ length }, (_, i) => `s${i}`);
    assert.equal((await app.actor(Strict, "first").walk(route(127))).length, 128);
    await assert.rejects(app.actor(Strict, "first").walk(route(128)), { code: "CALL_TOO_DEEP" });
    await app.advance("1h");
    assert.deepEqual(app.host.types(), [{ type: "Strict", active: 0 }]);
  });
});
