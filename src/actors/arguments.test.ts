// Arguments and results that need neither a copy nor a size check take a fast path. These tests guard the
// values that must not take it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Actor } from "../index.ts";
import { LIMITS } from "../kernel/limits.ts";
import { testLimpet } from "../testing.ts";

class Shelf extends Actor {
  readonly #kept: unknown[] = [];
  keep(...items: unknown[]) {
    this.#kept.push(...items);
  }
  kept() {
    return this.#kept;
  }
  echo(item: unknown) {
    return item;
  }
}

test("an argument is copied at every position, also behind numbers", async () => {
  await using app = await testLimpet({ actors: [Shelf] });
  const shelf = app.actor(Shelf, "s");
  const first = { n: 1 };
  const second = { n: 2 };
  await shelf.keep(1, null, first, undefined, true, second);
  first.n = 0;
  second.n = 0;
  assert.deepEqual(await shelf.kept(), [1, null, { n: 1 }, undefined, true, { n: 2 }]);
});

test("an argument is checked and counted at every position, also behind numbers", async () => {
  await using app = await testLimpet({ actors: [Shelf] });
  const shelf = app.actor(Shelf, "s");
  const message = /^argument 3 \(a function\)/;
  await assert.rejects(
    shelf.keep(1, 2, () => 3),
    { code: "ARGUMENT_INVALID", message },
  );
  const half = "x".repeat(LIMITS.callBytes / 2);
  const tooLarge = { code: "ARGUMENT_INVALID", message: /^the arguments of a call must be at most/ };
  await assert.rejects(shelf.keep(1, half, 2, { half }), tooLarge);
  assert.deepEqual(await shelf.kept(), []);
});

test("a primitive comes back unchanged from a call", async () => {
  await using app = await testLimpet({ actors: [Shelf] });
  const shelf = app.actor(Shelf, "s");
  for (const value of [0, -0, Number.NaN, Number.POSITIVE_INFINITY, true, false, null, undefined, 5n, "", "text"]) {
    assert.ok(Object.is(await shelf.echo(value), value), String(value));
  }
  await assert.rejects(shelf.echo(Symbol("s")), { code: "ARGUMENT_INVALID" });
});
