// Two real processes and one SQLite file.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Fired } from "./app.ts";

const file = (name: string): string => join(import.meta.dirname, name);

function start(t: TestContext, folder: string, script: string, args: readonly string[], env: object): ChildProcess {
  const child = spawn(process.execPath, ["--conditions=limpet-source", file(script), ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

async function startApp(
  t: TestContext,
  folder: string,
  env: object = {},
): Promise<{ child: ChildProcess; url: string }> {
  const child = start(t, folder, "app.ts", [], { PORT: "0", ...env });
  return { child, url: await urlOf(child) };
}

function urlOf(child: ChildProcess): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    child.stdout!.on("data", (chunk) => {
      const found = /http:\S+/.exec(String(chunk))?.[0];
      if (found !== undefined) resolve(found);
    });
    child.once("exit", (code) => reject(new Error(`the process ended (${code}) before it was ready`)));
  });
}

function tempFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "limpet-reminders-"));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

async function send(url: string, method: string, body: object): Promise<[number, string]> {
  const response = await fetch(`${url}/reminder`, { method, body: JSON.stringify(body) });
  return [response.status, await response.text()];
}

async function firedAt(url: string): Promise<Fired[]> {
  return (await (await fetch(`${url}/fired`)).json()) as Fired[];
}

describe("reminders of two processes", { timeout: 600_000 }, () => {
  it("reminders are set and cancelled at either process, and each is fired by one of them", async (t) => {
    const folder = tempFolder(t);
    const apps = await Promise.all([startApp(t, folder), startApp(t, folder)]);
    const urls = apps.map(({ url }) => url);
    const demo = start(t, folder, "demo.ts", urls, {});
    const [output, [code]] = await Promise.all([text(demo.stdout!), once(demo, "exit")]);
    t.diagnostic(output.trimEnd().split("\n").slice(-2).join("; "));
    assert.equal(code, 0, output);
    for (let i = 0; i < 20; i++) assert.match(output, new RegExp(`fired person-${i} once #1 \\(call number ${i}\\)`));
    for (const number of [1, 2, 3]) assert.match(output, new RegExp(`fired clock thrice #${number} \\(tick\\)`));
    assert.match(output, /fired alice changed #1 \(meet at ten\)/);
    // Actors of both processes were reminded.
    for (const url of urls) assert.match(output, new RegExp(`^${url} fired [1-9]\\d*$`, "m"));
    for (const { child } of apps) child.kill("SIGTERM");
    for (const { child } of apps) if (child.exitCode === null) await once(child, "exit");
    assert.deepEqual(
      apps.map(({ child }) => child.exitCode),
      [0, 0],
    );
  });

  it("reminders are fired by the other process when the process that claimed them is killed", async (t) => {
    const folder = tempFolder(t);
    const env = { LIMPET_REMINDERS_LEASE: "9s", LIMPET_REMINDERS_FETCH_AHEAD: "3s" };
    const [one, other] = await Promise.all([startApp(t, folder, env), startApp(t, folder, env)]);
    // They are due so soon that the process that sets them claims them at once.
    const ids = ["a", "b", "c", "d"];
    for (const id of ids) assert.deepEqual(await send(one.url, "POST", { id, name: "tea", due: "3s" }), [200, ""]);
    one.child.kill("SIGKILL");
    let seen: string[] = [];
    for (let i = 0; seen.length < ids.length && i < 3_000; i++) {
      await pause(100);
      const fired = await firedAt(other.url);
      assert.ok(fired.every(({ lateMs }) => lateMs >= 0));
      seen = [...new Set(fired.map(({ id }) => id))].sort();
    }
    assert.deepEqual(seen, ids);
  });

  it("an invalid reminder is rejected with the correct form", async (t) => {
    const { url } = await startApp(t, tempFolder(t));
    const wrong = await send(url, "POST", { id: "a", name: "tea", due: "soon" });
    assert.equal(wrong[0], 400);
    assert.match(wrong[1], /^due: "soon" is not understood; write for example "15m"/);
    assert.deepEqual((await send(url, "PUT", {}))[0], 400);
    assert.deepEqual(await send(url, "DELETE", { id: "a", name: "nothing" }), [200, ""]);
  });
});

describe("commands of docs/reminders.md", { timeout: 600_000 }, () => {
  it("the commands start the program on whatever Node the machine has", async (t) => {
    const root = join(import.meta.dirname, "../..");
    const shown = readFileSync(join(root, "docs/reminders.md"), "utf8");
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
    for (const script of ["reminders", "reminders:demo"]) {
      assert.match(shown, new RegExp(`npm run ${script} `));
      assert.ok(script in scripts, script);
    }
    // Without the Node of this test in front, as in a terminal.
    const own = dirname(process.execPath);
    const path = process.env
      .PATH!.split(delimiter)
      .filter((folder) => !folder.includes("node_modules") && folder !== own);
    const npm = path.map((folder) => join(folder, "npm")).find((file) => existsSync(file));
    if (npm === undefined) return t.skip("npm is not installed beside another Node");
    const folder = tempFolder(t);
    const env = { ...process.env, PATH: path.join(delimiter), PORT: "0", LIMPET_STORE: join(folder, "reminders.db") };
    const child = spawn(npm, ["run", "reminders"], {
      cwd: root,
      env,
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    });
    t.after(() => process.kill(-child.pid!, "SIGKILL"));
    const url = await urlOf(child);
    assert.equal((await send(url, "POST", { id: "a", name: "tea", due: 0 }))[0], 200);
    while ((await firedAt(url)).length === 0) await pause(20);
  });
});
