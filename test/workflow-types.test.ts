// TypeScript inference for authors and users of workflows. The assertions are types: `npm run check` compiles
// this file, and a wrong inference, or a missing error, fails there. The one test at the end runs the calls
// that can run.
import assert from "node:assert/strict";
import { it } from "node:test";
import {
  type ActivityContext,
  Actor,
  type ActorOptions,
  query,
  signal,
  update,
  type WorkflowClient,
  type WorkflowContext,
  type WorkflowHandle,
  workflow,
} from "../src/index.ts";
import { testLimpet } from "../src/testing.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const expectType = <_Holds extends true>(): void => {};

const charge = async (order: { id: string }, { attempt }: ActivityContext) => ({ paid: order.id, attempt });
const ping = () => "pong";
const done = signal("done");
const told = signal<string>("told");
const count = query<number>("count");
const lengthOf = query<number, string>("length");
const reset = update<number>("reset");
const add = update<number, { by: number }>("add");

const plain = workflow("plain", async (ctx) => {
  await ctx.signal(done);
});
const maybe = workflow("maybe", async (_ctx, name?: string) => name ?? "nobody");
const double = workflow("double", async (_ctx, n: number) => n * 2);

class Cart extends Actor<{ n: number }> {
  initial() {
    return { n: 0 };
  }
  add(n: number) {
    this.state.n += n;
    return this.state.n;
  }
  async begin() {
    await this.workflows.start(plain, { id: "of a cart" });
    await this.workflows.signal("of a cart", done);
    return this.workflows.start(maybe);
  }
  async wrong() {
    // @ts-expect-error It has an input.
    await this.workflows.start(double, { id: "d" });
    // @ts-expect-error The signal carries a text.
    await this.workflows.signal("d", told, 5);
  }
}

class Named extends Actor {
  static options = { idleTimeout: "5m" } satisfies ActorOptions;
  greet(name: string) {
    return `hello ${name}`;
  }
}
class Loose extends Actor {
  static options = { reentrant: true };
  ping() {
    return 1;
  }
}

/** Never runs: only its types are checked. */
export async function inside(ctx: WorkflowContext): Promise<void> {
  const receipt = await ctx.activity(charge, { id: "o" }, { retry: { attempts: 2 } });
  expectType<Equal<typeof receipt, { paid: string; attempt: number }>>();
  const pong = await ctx.activity(ping);
  expectType<Equal<typeof pong, string>>();
  const n = await ctx.actor(Cart, "a").add(2);
  expectType<Equal<typeof n, number>>();
  const greeting = await ctx.actor(Named, "a").greet("you");
  expectType<Equal<typeof greeting, string>>();
  const one = await ctx.actor(Loose, "a").ping();
  expectType<Equal<typeof one, number>>();
  const byName = await ctx.activity<boolean>("charge", { id: "o" });
  expectType<Equal<typeof byName, boolean>>();
  const childByName = await ctx.child<boolean>("double", { input: 2 });
  expectType<Equal<typeof childByName, boolean>>();
  const anything = await ctx.child("double");
  expectType<Equal<typeof anything, unknown>>();
  const both = await Promise.all([ctx.child(double, { input: 2 }), ctx.child(plain), ctx.signal(told)]);
  expectType<Equal<typeof both, [number, Awaited<ReturnType<typeof plain.run>>, string]>>();
  const late = await ctx.signal(told, { within: "1s" });
  expectType<Equal<typeof late, string | undefined>>();
  const namedSignals = [await ctx.signal<string>("told"), await ctx.signal<boolean>("b", { within: "1s" })] as const;
  expectType<Equal<typeof namedSignals, readonly [string, boolean | undefined]>>();
  const unnamed = [await ctx.signal("told"), await ctx.signal("told", { within: "1s" })];
  expectType<Equal<typeof unnamed, unknown[]>>();
  ctx.onSignal("told", (n: number) => n + 1);
  ctx.onSignal<number>("told", (n) => n + 1);
  ctx.onQuery("length", (text: string) => text.length);
  ctx.onQuery<number, string>(lengthOf, (text) => text.length);
  ctx.onUpdate("add", async (by: number) => by, { validate: (by: number) => void by.toFixed() });
  const at = ctx.sideEffect(() => new Date(0));
  expectType<Equal<typeof at, Date>>();
  ctx.onQuery(lengthOf, (text) => text.length);
  ctx.onUpdate(add, ({ by }) => by, { validate: ({ by }) => void by.toFixed() });
  ctx.onSignal(told, (text) => text.length);
  ctx.workflow("other").signal(done);
  ctx.child(double, { input: 1, onParentClose: "abandon" }).signal(told, "hello");
  // @ts-expect-error An order has an id.
  await ctx.activity(charge, {});
  // @ts-expect-error It has an input.
  await ctx.activity(charge);
  // @ts-expect-error A number is doubled.
  ctx.child(double, { input: "2" });
  // @ts-expect-error It has an input.
  ctx.child(double);
  // @ts-expect-error There is no such method.
  await ctx.actor(Cart, "a").remove();
  // @ts-expect-error The input is a text, not a number.
  ctx.onSignal(told, (n: number) => n);
  // @ts-expect-error A number is the answer.
  ctx.onQuery(count, () => "many");
  // @ts-expect-error A number is the answer.
  ctx.onUpdate(add, () => "more");
  // @ts-expect-error A promise is always true.
  await ctx.condition(async () => false);
  // @ts-expect-error No query could find it.
  ctx.setAttributes({ at: new Date(0) });
  // @ts-expect-error The signal carries a text.
  ctx.workflow("other").signal(told, 1);
}

/** Never runs, either: a workflow by its name, or by its definition. */
export async function starting(workflows: WorkflowClient): Promise<void> {
  const byName = await workflows.start<boolean>("double", { input: "anything" });
  expectType<Equal<typeof byName, WorkflowHandle<boolean>>>();
  const untyped = await workflows.start("double");
  expectType<Equal<typeof untyped, WorkflowHandle<unknown>>>();
  const explicit = await workflows.start<typeof double>(double, { input: 2 });
  expectType<Equal<typeof explicit, WorkflowHandle<number>>>();
  // biome-ignore lint/suspicious/noExplicitAny: it was allowed before.
  const loose = await workflows.start<any>("double", { input: 2 });
  // biome-ignore lint/suspicious/noExplicitAny: the result is what was asked for.
  expectType<Equal<typeof loose, WorkflowHandle<any>>>();
  const got = workflows.get<boolean>("d", { runId: untyped.runId });
  expectType<Equal<typeof got, WorkflowHandle<boolean>>>();
  // @ts-expect-error It has an input.
  await workflows.start<typeof double>(double);
  // @ts-expect-error There is no such setting.
  await workflows.start(plain, { di: "p" });
  // @ts-expect-error A number is no workflow.
  await workflows.start(5);
  // @ts-expect-error A run is named by its id.
  workflows.get("d", { run: "r" });
}

/** Never runs, either. */
export async function outside(handle: WorkflowHandle<number>): Promise<void> {
  const answers = [await handle.query(count), await handle.query(lengthOf, "x"), await handle.update(add, { by: 1 })];
  expectType<Equal<typeof answers, number[]>>();
  const named = [await handle.query<boolean>("b"), await handle.update<boolean>("b", 1, { id: "once" })];
  expectType<Equal<typeof named, boolean[]>>();
  const unnamed = [await handle.query("b", 1), await handle.update("b")];
  expectType<Equal<typeof unnamed, unknown[]>>();
  const both = [
    await handle.query<number, string>(lengthOf, "x"),
    await handle.update<number, { by: number }>(add, { by: 1 }),
  ];
  expectType<Equal<typeof both, number[]>>();
  await handle.signal<string>(told, "x");
  await handle.update(reset);
  await handle.update(add, { by: 1 }, { id: "once" });
  await handle.signal(done);
  await handle.signal("anything");
  await handle.signal("anything", 5);
  // @ts-expect-error The signal carries a text.
  await handle.signal(told, 5);
  // @ts-expect-error The signal carries a value.
  await handle.signal(told);
  // @ts-expect-error The input is missing.
  await handle.query(lengthOf);
  // @ts-expect-error By how much?
  await handle.update(add);
  // @ts-expect-error By a number.
  await handle.update(add, { by: "1" });
}

it("a workflow without an input needs none", async () => {
  await using app = await testLimpet({ workflows: [plain, maybe, double], actors: [Cart] });
  const handle = await app.workflows.start(plain);
  await handle.signal(done);
  expectType<Equal<typeof handle, WorkflowHandle<void>>>();
  assert.equal(await handle.result(), undefined);
  assert.equal(await (await app.workflows.start(maybe, { id: "m" })).result(), "nobody");
  const four = await (await app.workflows.start(double, { input: 2 })).result();
  expectType<Equal<typeof four, number>>();
  assert.equal(four, 4);
  const named = await app.actor(Cart, "a").begin();
  assert.equal(await app.workflows.get(maybe, named).result(), "nobody");
  assert.equal(await app.workflows.get(plain, "of a cart").result(), undefined);
});
