import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor, type LimpetError } from "../../index.ts";
import { testLimpet } from "../../testing.ts";

type Route = readonly string[];

/** Calls the next one on its route, adding its own id to what comes back. */
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
  it("fails at once and shows the chain, when the type does not allow it", async () => {
    await using app = await testLimpet({ actors: [Strict, Open] });
    await assert.rejects(app.actor(Strict, "a").walk(["b", "c", "a"]), (error: LimpetError) => {
      assert.equal(error.code, "CALL_CYCLE");
      assert.match(error.message, /Strict\/a\.walk → Strict\/b\.walk → Strict\/c\.walk → Strict\/a\.walk/);
      return true;
    });
    await assert.rejects(app.actor(Strict, "a").walk(["a"]), { code: "CALL_CYCLE" });
    assert.deepEqual(await app.actor(Strict, "a").walk(["b"]), ["a", "b"], "both are free again");
  });

  it("runs inside the turn that waits for it, when the type allows it", async () => {
    await using app = await testLimpet({ actors: [Strict, Open] });
    const route = ["open2", "strict", "open1", "open2"];
    assert.deepEqual(await app.actor(Open, "open1").walk(route), ["open1", ...route]);
    assert.equal(await app.actor(Open, "open1").visits(), 2);
    assert.equal(await app.actor(Open, "open2").visits(), 2);
  });

  it("waits like any other call, when it belongs to another chain", async () => {
    await using app = await testLimpet({ actors: [Strict, Open] });
    const calls = Array.from({ length: 5 }, () => app.actor(Open, "open1").walk(["s", "open1"]));
    for (const route of await Promise.all(calls)) assert.deepEqual(route, ["open1", "s", "open1"]);
    assert.equal(await app.actor(Open, "open1").visits(), 10);
  });

  it("is taken back with the turn around it", async () => {
    await using app = await testLimpet({ actors: [Strict, Open] });
    await assert.rejects(app.actor(Open, "open1").walkThenThrow(["s", "open1"]), { message: "after all" });
    assert.equal(await app.actor(Open, "open1").visits(), 0);
    assert.equal(await app.actor(Strict, "s").visits(), 1, "another actor's turn stands on its own");
  });

  it("takes back only itself when it throws and the turn around it goes on", async () => {
    await using app = await testLimpet({ actors: [Strict, Open] });
    assert.equal(await app.actor(Open, "open1").surviveInside(), 2);
    assert.equal(await app.actor(Open, "open1").visits(), 2);
  });

  it("runs alone among the calls that came back to the same turn", async () => {
    await using app = await testLimpet({ actors: [Open] });
    assert.equal(await app.actor(Open, "open1").fan(20), 20);
  });

  it("may come back 32 times and not more", async () => {
    await using app = await testLimpet({ actors: [Open] });
    const route = (times: number): string[] => Array.from({ length: times }, () => "open1");
    assert.equal((await app.actor(Open, "open1").walk(route(32))).length, 33);
    await assert.rejects(app.actor(Open, "open1").walk(route(33)), { code: "CALL_TOO_DEEP" });
    assert.equal(await app.actor(Open, "open1").visits(), 33);
  });
});

describe("a call chain", () => {
  it("through different actors is limited too, and leaves nobody behind", async () => {
    await using app = await testLimpet({ actors: [Strict] });
    const route = (length: number): string[] => Array.from({ length }, (_, i) => `s${i}`);
    assert.equal((await app.actor(Strict, "first").walk(route(127))).length, 128);
    await assert.rejects(app.actor(Strict, "first").walk(route(128)), { code: "CALL_TOO_DEEP" });
    await app.advance("1h");
    assert.deepEqual(app.host.types(), [{ type: "Strict", active: 0 }]);
  });
});
