import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tempFolder } from "../../../test/support/cli.ts";
import { Actor } from "../../actors/actor.ts";
import { Failure } from "../common/failure.ts";
import { collectActors, findModule, loadModule, typeNameOf } from "./load-module.ts";

const folder = tempFolder();
after(() => folder[Symbol.dispose]());
const WORKFLOW = JSON.stringify(new URL("../../workflows/definition/definition.ts", import.meta.url).href);
const ACTOR = JSON.stringify(new URL("../../actors/actor.ts", import.meta.url).href);

async function refused(name: string, text?: string): Promise<Failure> {
  if (text !== undefined) folder.write(name, text);
  try {
    await loadModule(findModule(name, folder.path), folder.path);
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.code, "MODULE_INVALID");
    assert.doesNotMatch(error.message, /node:internal|\n\s+at /, "no stack traces");
    return error;
  }
  return assert.fail("nothing was refused");
}

class One extends Actor {}
class Two extends Actor {}
class Three extends Actor {}

test("actors are found alone, in arrays, in objects and as default, each once", () => {
  const found = collectActors({
    One,
    list: [One, Two, "no"],
    nested: { Three, x: null },
    default: One,
    Actor,
    limit: 5,
  });
  assert.deepEqual(found, [One, Two, Three]);
});

test("the actors and the proposals of a module are loaded", async () => {
  const text = `import { Actor } from ${ACTOR};
    export class Cart extends Actor<{ items: string[] }> {}
    export default class extends Actor { static options = { name: "Stock" }; }
    export const tryThese: string[] = ["limpet actors"];`;
  const module = await loadModule(folder.write("good.ts", text), folder.path);
  assert.deepEqual(module.actors.map(typeNameOf).sort(), ["Cart", "Stock"]);
  assert.deepEqual(module.tryThese, ["limpet actors"]);
});

test("workflows are found like actors, and activities under their name", async () => {
  const text = `import { workflow } from ${WORKFLOW};
    export const order = workflow("order", async () => {});
    export const more = [order, workflow("refund", async () => {})];
    export const activities = { charge: async () => {} };`;
  const module = await loadModule(folder.write("flows.ts", text), folder.path);
  assert.deepEqual(
    module.workflows.map(({ name }) => name),
    ["order", "refund"],
  );
  assert.deepEqual([module.actors, Object.keys(module.activities)], [[], ["charge"]]);
  const twice = `import { workflow } from ${WORKFLOW};
    export const list = [workflow("order", async () => {}), workflow("order", async () => {})];`;
  assert.match((await refused("two-flows.ts", twice)).message, /two different workflows named order/);
  const wrong = await refused("wrong.ts", "export const activities = [async () => {}];");
  assert.equal(wrong.message, "activities in wrong.ts must be an object of functions");
});

test("a missing file is reported with the nearest existing one", async () => {
  folder.write("shop.ts", "");
  assert.match((await refused("shpo.ts")).hint ?? "", /^Did you mean: limpet dev shop\.ts$/);
  assert.match((await refused("shop")).hint ?? "", /limpet dev shop\.ts/);
  const lost = await refused("missing/zebra.ts");
  assert.equal(lost.message, "there is no file missing/zebra.ts");
  assert.equal((await refused(".")).message, ". is a folder, not a module");
});

test("a module without actors is reported with its exports and advice", async () => {
  const some = await refused("none.ts", "export const x = 1; export class Y {}");
  assert.equal(some.message, "none.ts exports Y, x, but neither actors nor workflows");
  assert.match(
    some.hint ?? "",
    /extends Actor.*\n.*workflow\(.*\nIf none\.ts starts limpet\(\) by itself, run it with: node none\.ts/,
  );
  assert.equal((await refused("empty.ts", "")).message, "empty.ts exports nothing");
  const other = await refused("other.ts", "class Actor {}\nexport class Cart extends Actor {}");
  assert.match(other.message, /Cart in other\.ts extends the Actor of another copy of limpet/);
});

test("two classes with one name, or a class without a name, are rejected", async () => {
  const twice = `import { Actor } from ${ACTOR};
    export class Cart extends Actor {}
    export const more = [class Cart extends Actor {}];`;
  assert.match((await refused("twice.ts", twice)).message, /two different actor classes named Cart/);
  const nameless = `import { Actor } from ${ACTOR};\nexport const list = [class extends Actor {}];`;
  assert.match((await refused("nameless.ts", nameless)).message, /an actor class without a name/);
});

test("a module that throws is reported with the error and its place", async () => {
  const thrown = await refused("throws.ts", "function f() { throw new TypeError('no good'); }\nf();");
  assert.equal(thrown.message, "throws.ts failed while it was loaded: TypeError: no good (at throws.ts:1:22)");
  assert.equal((await refused("text.ts", "throw 'oops';")).message, 'text.ts threw "oops" while it was loaded');
  assert.equal(
    (await refused("nothing.ts", "throw undefined;")).message,
    "nothing.ts threw a value of type undefined while it was loaded",
  );
});

test("an import of a missing file is reported with the importer and a suggestion", async () => {
  folder.write("cart.ts", "export const cart = 1;");
  const bare = await refused("bare.ts", "import { cart } from './cart';\nexport const x = cart;");
  assert.equal(bare.message, "bare.ts imports ./cart, which does not exist");
  assert.match(bare.hint ?? "", /\.\/cart\.ts$/);
  assert.match(
    (await refused("js.ts", "import { cart } from './cart.js';\nexport const x = cart;")).hint ?? "",
    /\.\/cart\.ts$/,
  );
  const pack = await refused("pack.ts", "import x from 'no-such-package-at-all';\nexport { x };");
  assert.match(pack.message, /pack\.ts imports the package no-such-package-at-all, which is not installed/);
  assert.equal(pack.hint, "Install it with: npm install no-such-package-at-all");
});

test("a syntax error is shown with file, line and position, also in an imported file", async () => {
  const syntax = await refused("syntax.ts", "export const a = 1;\nexport const b = = 2;\n");
  assert.match(syntax.message, /^syntax\.ts:2 is not valid: .*\n\n(.*\n)? {4}export const b = = 2;\n {4} +\^/);
  const below = await refused("below.ts", "import './syntax.ts';");
  assert.match(below.message, /^syntax\.ts:2 is not valid: /);
  const enums = await refused("enums.ts", "export enum Colour { Red }");
  assert.match(enums.message, /^enums\.ts:1 is not valid: .*enum/);
  assert.match(enums.hint ?? "", /leaving out the types/);
  const types = await refused("types.ts", "import { Stats } from 'node:fs/promises';\nexport type S = Stats;");
  assert.match(types.hint ?? "", /import type/);
});

test("tryThese must be a list of texts", async () => {
  const text = `import { Actor } from ${ACTOR};\nexport class A extends Actor {}\nexport const tryThese = [5];`;
  assert.equal((await refused("proposals.ts", text)).message, "tryThese in proposals.ts must be an array of strings");
});
