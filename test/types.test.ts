// TypeScript inference for callers. The assertions are types: `npm run check` compiles this file, and a wrong
// inference, or a missing error, fails there. The one test at the end runs the same calls.
import assert from "node:assert/strict";
import { it } from "node:test";
import { Actor, type ActorOptions, type Remote, type StickyPlacement, sticky } from "../src/index.ts";
import { testLimpet } from "../src/testing.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const expectType = <_Holds extends true>(): void => {};

interface Line {
  sku: string;
  qty: number;
}

class Cart extends Actor<{ lines: Line[]; since: Date }> {
  static options = { idleTimeout: "30m", reentrant: true } satisfies ActorOptions;
  #secret = 1;
  label = "a field";
  initial() {
    return { lines: [], since: new Date(0) };
  }
  add(sku: string, qty = 1) {
    this.state.lines.push({ sku, qty });
    return this.state.lines.length;
  }
  async lines(): Promise<Line[]> {
    return this.state.lines;
  }
  nothing(): void {}
  find(...skus: string[]): Line | undefined {
    return this.state.lines.find((line) => skus.includes(line.sku));
  }
  override onReminder(_name: string, _data: unknown) {}
  private hidden() {
    return this.#secret;
  }
  protected guarded() {
    return this.hidden();
  }
  _convention() {
    return this.guarded();
  }
}

class Shopper extends Actor {
  async buy(sku: string) {
    const cart = this.actor(Cart, this.id);
    const count = await cart.add(sku);
    expectType<Equal<typeof count, number>>();
    return { count, lines: await cart.lines() };
  }
}

class Player extends Actor {
  static options = { placement: "sticky" } satisfies ActorOptions;
}
class Guest extends Actor {
  static options = {
    placement: sticky({ lost: { after: "10m" }, limit: 1_000, full: "refuse" }),
  } satisfies ActorOptions;
}
expectType<Equal<(typeof Player.options)["placement"], "sticky">>();
expectType<Equal<(typeof Guest.options)["placement"], StickyPlacement>>();
const placements: readonly ActorOptions[] = [
  { placement: "hash" },
  { placement: sticky() },
  { placement: sticky({ lost: "never" }) },
  // @ts-expect-error: a word that is no placement.
  { placement: "stikcy" },
  // @ts-expect-error: a value that only sticky() makes.
  { placement: { lost: "never" } },
];
const misplaced = [
  // @ts-expect-error: a word that is no rule.
  () => sticky({ lost: "later" }),
  // @ts-expect-error: an option that is not there.
  () => sticky({ limits: 5 }),
  // @ts-expect-error: a limit that is no number.
  () => sticky({ limit: "5" }),
];

type RemoteCart = Remote<Cart>;
expectType<Equal<keyof RemoteCart, "add" | "lines" | "nothing" | "find">>();
expectType<Equal<RemoteCart["add"], (sku: string, qty?: number) => Promise<number>>>();
expectType<Equal<RemoteCart["lines"], () => Promise<Line[]>>>();
expectType<Equal<RemoteCart["nothing"], () => Promise<void>>>();
expectType<Equal<RemoteCart["find"], (...skus: string[]) => Promise<Line | undefined>>>();

it("calls are typed by inference: arguments, results, and members that cannot be called", async () => {
  await using app = await testLimpet({ actors: [Cart, Shopper, Player, Guest] });
  assert.deepEqual([placements.length, misplaced.length], [5, 3]);
  const cart = app.actor(Cart, "alice");
  const bought = await app.actor(Shopper, "alice").buy("tea");
  expectType<Equal<typeof bought, { count: number; lines: Line[] }>>();
  expectType<Equal<typeof cart, RemoteCart>>();
  assert.deepEqual(bought, { count: 1, lines: [{ sku: "tea", qty: 1 }] });

  const wrong = [
    // @ts-expect-error: a wrong argument.
    () => cart.add(5),
    // @ts-expect-error: a missing argument.
    () => cart.add(),
    // @ts-expect-error: one argument too many.
    () => cart.add("tea", 1, 2),
    // @ts-expect-error: a hook.
    () => cart.onActivate(),
    // @ts-expect-error: a hook the class overrides.
    () => cart.onReminder("r", 1),
    // @ts-expect-error: the initial state.
    () => cart.initial(),
    // @ts-expect-error: the state.
    () => cart.state,
    // @ts-expect-error: a private member.
    () => cart.hidden(),
    // @ts-expect-error: a protected member.
    () => cart.guarded(),
    // @ts-expect-error: a name with an underscore.
    () => cart._convention(),
    // @ts-expect-error: a field.
    () => cart.label,
    // @ts-expect-error: a method that is not there.
    () => cart.remove("tea"),
    // @ts-expect-error: a class that is not an actor.
    () => app.actor(Date, "x"),
    // @ts-expect-error: an id that is not a string.
    () => app.actor(Cart, 5),
  ];
  assert.equal(wrong.length, 14);
  const byName = app.actor<Cart>("Cart", "alice");
  assert.equal(await byName.add("milk"), 2);
});
