// Methods of a class whose names Limpet uses too.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Actor, isLimpetError } from "../index.ts";
import { testLimpet } from "../testing.ts";

class Cart extends Actor<{ items: string[] }> {
  initial() {
    return { items: [] as string[] };
  }
  add(item: string) {
    return this.state.items.push(item);
  }
  /** Clears the cart, not its stored state. */
  override clear() {
    const { length } = this.state.items;
    this.state.items = [];
    return length;
  }
  forget() {
    super.clear();
  }
}

test("a method named clear is callable, and super.clear() removes the stored state", async () => {
  await using app = await testLimpet({ actors: [Cart] });
  const cart = app.actor(Cart, "a");
  await cart.add("tea");
  await cart.add("milk");
  const removed: number = await cart.clear();
  assert.equal(removed, 2);
  assert.equal(await cart.add("tea"), 1);
  await cart.forget();
  assert.equal(await cart.add("tea"), 1);
});

test("methods that a class only inherits from Actor are not callable", async () => {
  class Plain extends Actor<{ n: number }> {
    initial() {
      return { n: 0 };
    }
  }
  await using app = await testLimpet({ actors: [Plain] });
  const plain = app.actor(Plain, "a");
  // @ts-expect-error Callers do not see it.
  await assert.rejects(plain.clear(), (error) => isLimpetError(error, "METHOD_UNKNOWN"));
  // @ts-expect-error Nor this one.
  await assert.rejects(plain.deactivate(), (error) => isLimpetError(error, "METHOD_UNKNOWN"));
  // @ts-expect-error Nor hooks.
  await assert.rejects(plain.onReminder("a"), (error) => isLimpetError(error, "METHOD_UNKNOWN"));
});

test("a method that hides a property of Actor is rejected when the class is registered", async () => {
  for (const name of ["state", "signal", "id", "timers"]) {
    const actor = class Order extends Actor {};
    Object.defineProperty(actor.prototype, name, { value: () => 1, configurable: true });
    const about = new RegExp(`^Order\\.${name} cannot be a method: .*; rename the method$`);
    await assert.rejects(testLimpet({ actors: [actor] }), (error) => {
      return isLimpetError(error, "OPTION_INVALID") && about.test(error.message);
    });
  }
});
