// The package as users get it: the tarball, built from a copy of the sources, installed into an empty folder,
// and used there.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join, sep } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Command, run } from "./support/command.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Not part of a clean checkout. */
const LEFT_BEHIND = new Set([".git", "node_modules", "dist", ".limpet"]);

const CART = `class Cart extends Actor {
  initial() { return { items: new Map() }; }
  add(item) { this.state.items.set(item, (this.state.items.get(item) ?? 0) + 1); return this.state.items; }
}`;

const PLAIN_JS = `import { Actor, isLimpetError, limpet } from "limpet";
import { connect } from "limpet/client";
import { openWorld, testLimpet } from "limpet/testing";
${CART}
const app = await limpet({ actors: [Cart], http: { port: 0 } });
await app.actor(Cart, "alice").add("tea");
const client = connect({ url: app.url });
const items = await client.actor(Cart, "alice").add("tea");
await client.close();
await app.stop();
const test = await testLimpet({ actors: [Cart] });
const tested = await test.actor(Cart, "alice").add("milk");
await test.stop();
const world = await openWorld({ actors: [Cart], hosts: 2 });
await world.hosts[0].actor(Cart, "alice").add("tea");
world.crash(await world.where(Cart, "alice"));
await world.settled();
const survived = await world.someHost().actor(Cart, "alice").add("tea");
await world.stop();
const refused = await limpet({ actors: [Cart], store: "postgres://127.0.0.1:1/nobody" }).catch((error) => error);
console.log(JSON.stringify({ items: [...items], tested: [...tested], survived: [...survived], refused: isLimpetError(refused) && refused.code }));
`;

const TYPED = `import { Actor, type ActorOptions, limpet } from "limpet";
import { connect } from "limpet/client";
import { everySeed, openWorld, testLimpet } from "limpet/testing";

export class Cart extends Actor<{ items: Map<string, number> }> {
  static options = { idleTimeout: "30m" } satisfies ActorOptions;
  initial() {
    return { items: new Map<string, number>() };
  }
  add(item: string, count = 1): Map<string, number> {
    this.state.items.set(item, (this.state.items.get(item) ?? 0) + count);
    return this.state.items;
  }
  async total(): Promise<number> {
    return [...this.state.items.values()].reduce((sum, count) => sum + count, 0);
  }
}
`;

const TYPE_CHECKS = `${TYPED}
await using app = await limpet({ actors: [Cart], store: "typed.db" });
const total: number = await app.actor(Cart, "alice").total();
const items: Map<string, number> = await app.actor(Cart, "alice").add("tea", 2);
// @ts-expect-error a result keeps its type
const wrong: string = await app.actor(Cart, "alice").total();
// @ts-expect-error arguments are checked
await app.actor(Cart, "alice").add(1);
// @ts-expect-error what Limpet calls itself cannot be called from outside
app.actor(Cart, "alice").initial();
const far: number = await connect({ url: "http://127.0.0.1:1" }).actor(Cart, "alice").total();
await using testing = await testLimpet({ actors: [Cart] });
await testing.advance("1h");
await using world = await openWorld({ actors: [Cart], hosts: ["a", { name: "b", idleTimeout: "1m" }], seed: 42, callTimeout: "5s" });
const counted: number = await world.hosts[0].actor(Cart, "alice").total();
// @ts-expect-error arguments are checked
await world.hosts[0].actor(Cart, "alice").add(1);
// @ts-expect-error a world has a database of its own
await openWorld({ actors: [Cart], store: "typed.db" });
// @ts-expect-error faults are known by name
await world.chaos("1m", { faults: ["crash", "earthquake"] });
await everySeed(3, async (each) => void (await each.someHost().actor(Cart, "alice").add("tea")), { actors: [Cart] });
export { counted };
export { far, items, total, wrong };
`;

const TYPED_APP = `${TYPED}
await using app = await limpet({ actors: [Cart], store: "typed.db" });
await app.actor(Cart, "alice").add("tea", 2);
console.log(await app.actor(Cart, "alice").total(), typeof connect, typeof testLimpet, typeof openWorld, typeof everySeed);
`;

const DEV_APP = `import { Actor } from "limpet";
export class Visits extends Actor<{ n: number }> {
  initial() { return { n: 0 }; }
  visit(): number { return ++this.state.n; }
}
`;

describe("the packed package, installed into an empty folder", { timeout: 600_000 }, () => {
  let place: string;
  let folder: string;
  let installed: string;
  const write = (name: string, text: string) => writeFile(join(folder, name), text);

  before(async () => {
    place = await mkdtemp(join(tmpdir(), "limpet-package-"));
    const sources = join(place, "sources");
    const wanted = (path: string) =>
      path
        .slice(ROOT.length)
        .split(sep)
        .every((name) => !LEFT_BEHIND.has(name));
    await cp(ROOT, sources, { recursive: true, filter: wanted });
    await symlink(join(ROOT, "node_modules"), join(sources, "node_modules"));
    // Packing builds.
    await run(sources, "npm", "pack", "--pack-destination", place);
    const [tarball] = globSync("*.tgz", { cwd: place });
    folder = join(place, "empty");
    await mkdir(folder);
    await run(folder, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", `../${tarball}`);
    installed = join(folder, "node_modules/limpet");
  });
  after(async () => {
    if (place !== undefined) await rm(place, { recursive: true, force: true });
  });

  test("the package holds the files that are needed to run and read it, and no others", async () => {
    const files = globSync("**/*", { cwd: installed, withFileTypes: true }).filter((entry) => entry.isFile());
    const names = files.map((file) => join(file.parentPath, file.name).slice(installed.length + 1));
    const expected = /^(package\.json|LICENSE|[A-Z]+\.md|docs\/.+\.md|bin\/limpet\.js|dist\/.+\.(js|js\.map|d\.ts))$/;
    assert.deepEqual(
      names.filter((name) => !expected.test(name)),
      [],
    );
    assert.deepEqual(
      names.filter((name) => /\.(test|contract)\./.test(name)),
      [],
    );
    for (const name of ["README.md", "LICENSE", "dist/index.js", "dist/stores/sqlite/thread/worker.js"]) {
      assert.ok(names.includes(name), `${name} is missing`);
    }
    const machine = [ROOT, place, join(homedir(), sep)];
    const leaks = names.filter((name) => {
      const text = readFileSync(join(installed, name), "utf8");
      return machine.some((path) => text.includes(path));
    });
    assert.deepEqual(leaks, [], "paths of the machine that built it");
  });

  test("the package names only files that exist", async () => {
    const { exports, bin } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
    assert.deepEqual(Object.keys(exports), [".", "./client", "./testing", "./sqlite-worker", "./package.json"]);
    assert.deepEqual(Object.keys(bin), ["limpet"]);
    const entries = [exports["."], exports["./client"], exports["./testing"]];
    for (const { types } of entries) await readFile(join(installed, types));
    for (const { default: code } of entries) await readFile(join(installed, code));
    await readFile(join(installed, exports["./sqlite-worker"]));
    await readFile(join(installed, bin.limpet));
  });

  test("the package runs a plain JavaScript app: the library, the client, the testing kit", async () => {
    await write("plain.mjs", PLAIN_JS);
    const answers = [];
    for (let start = 0; start < 2; start++) answers.push(JSON.parse(await run(folder, "node", "plain.mjs")));
    const rest = { tested: [["milk", 1]], survived: [["tea", 2]], refused: "STORE_UNAVAILABLE" };
    assert.deepEqual(answers, [
      { items: [["tea", 2]], ...rest },
      { items: [["tea", 4]], ...rest },
    ]);
  });

  test("the package runs a TypeScript app without a build, and gives it types", async () => {
    await write("typed-app.mts", TYPED_APP);
    assert.equal(await run(folder, "node", "typed-app.mts"), "2 function function function function\n");

    await write("checks.mts", TYPE_CHECKS);
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: "nodenext",
      target: "es2024",
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      types: ["node"],
      typeRoots: [join(ROOT, "node_modules/@types")],
    };
    await write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["checks.mts"] }));
    await run(folder, join(ROOT, "node_modules/.bin/tsc"), "-p", ".");
  });

  test("the package has a command line: it prints its version, runs an app, calls it, and stops on request", async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    assert.equal(await run(folder, "npx", "limpet", "--version"), `${version}\n`);

    await write("app.ts", DEV_APP);
    await using dev = new Command(folder, ["npx", "limpet", "dev", "app.ts", "--port", "0"]);
    const [, url] = await dev.prints(/(http:\/\/127\.0\.0\.1:\d+)\/v1\.0/);
    await dev.prints(/Ctrl-C/);
    for (const count of [1, 2]) {
      assert.equal(await run(folder, "npx", "limpet", "call", "Visits", "alice", "visit", "--url", url!), `${count}\n`);
    }
    dev.signal("SIGINT");
    await dev.ended();
    assert.match(dev.stderr, /Stopped\.\n/);
  });
});
