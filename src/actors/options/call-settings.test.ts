import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../../client.ts";
import { Actor, isLimpetError } from "../../index.ts";
import { testLimpet } from "../../testing.ts";

class Cart extends Actor {
  add() {
    return 1;
  }
  async addTo(other: string, settings: object) {
    return this.actor(Cart, other, settings).add();
  }
}

const refused = (about: RegExp) => (error: unknown) =>
  isLimpetError(error, "OPTION_INVALID") && about.test(error.message);

test("a misspelt setting of a call is rejected by every kind of handle", async () => {
  await using app = await testLimpet({ actors: [Cart] });
  await using client = connect({ url: "http://127.0.0.1:1" });
  const wrong = { timeuot: "1s" } as object;
  const meant = refused(/settings of a call have no "timeuot"; did you mean "timeout"\?/);
  assert.throws(() => app.actor(Cart, "a", wrong), meant);
  assert.throws(() => app.region(Cart, wrong), meant);
  assert.throws(() => client.actor(Cart, "a", wrong), meant);
  assert.throws(() => client.region(Cart, wrong), meant);
  await assert.rejects(app.actor(Cart, "a").addTo("b", wrong), meant);
});

test("settings of the wrong type are rejected", async () => {
  await using app = await testLimpet({ actors: [Cart] });
  assert.throws(() => app.actor(Cart, "a", "1s" as never), refused(/must be an object such as \{ timeout: "5s" \}/));
  assert.throws(() => app.actor(Cart, "a", { abort: 1 } as object), refused(/no "abort"; known are timeout, signal/));
  assert.throws(() => app.actor(Cart, "a", { signal: 5 } as object), refused(/signal must be an AbortSignal/));
});

test("known settings apply, and may be undefined", async () => {
  await using app = await testLimpet({ actors: [Cart] });
  const { signal } = new AbortController();
  assert.equal(await app.actor(Cart, "a", { timeout: "1s", signal }).add(), 1);
  assert.equal(await app.actor(Cart, "a", { timeout: undefined, signal: undefined } as object).add(), 1);
  assert.equal(await app.actor(Cart, "a", {}).add(), 1);
});
