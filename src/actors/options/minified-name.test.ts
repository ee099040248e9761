import assert from "node:assert/strict";
import { test } from "node:test";
import { Actor } from "../../index.ts";
import type { Log } from "../../ports/log.ts";
import { testLimpet } from "../../testing.ts";
import { looksMinified } from "./actor-options.ts";

test("minified class names are recognised, and names that people write are not", () => {
  for (const name of ["a", "t", "Z", "aB", "e1", "$", "_", "$t", "a1b", "_Cart", "n_1"]) {
    assert.ok(looksMinified({ name }), name);
  }
  for (const name of ["Cart", "Bob", "Cat", "ShoppingCart", "Cart2", "User_Account", "Ärzte", "HTTPServer"]) {
    assert.ok(!looksMinified({ name }), name);
  }
});

test("a class with a name option may have any minified class name", () => {
  assert.ok(!looksMinified({ name: "a", options: { name: "Cart" } }));
  assert.ok(looksMinified({ name: "a", options: {} }));
});

test("a process warns when it starts to host a class with a minified name, and of no other class", async () => {
  const warned: { event: string; type: unknown }[] = [];
  const warn: Log["warn"] = (event, fields) => void warned.push({ event, type: fields?.type });
  const log: Log = { debug() {}, info() {}, warn, error() {} };
  const renamed = { e: class e extends Actor {} }.e;
  const named = {
    t: class t extends Actor {
      static options = { name: "Named" };
    },
  }.t;
  class Cart extends Actor {}
  await using _app = await testLimpet({ actors: [renamed, named, Cart], log });
  assert.deepEqual(warned, [{ event: "actor.name-minified", type: "e" }]);
});
