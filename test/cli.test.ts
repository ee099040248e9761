// The command line with real processes, a real app, signals, pipes and files that change.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { ClusterTable } from "../src/ports/host-admin.ts";
import { CliProcess, runCli, spawnCli, tempFolder } from "./support/cli.ts";

const LIMPET = JSON.stringify(new URL("../src/index.ts", import.meta.url).href);
const ESCAPE = "\u001b[";

const APP = `import { Actor } from ${LIMPET};
  export class Cart extends Actor<{ items: string[] }> {
    initial() { return { items: [] as string[] }; }
    add(item: string) { this.state.items.push(item); return this.state.items.length; }
    items() { return this.state.items; }
    nothing() {}
    fail() { throw new TypeError("out of tea"); }
    slow() { return new Promise<void>((resolve) => { setTimeout(resolve, 500); }).then(() => { this.state.items.push("slow"); }); }
    never() {
      console.error("never has begun");
      return new Promise<void>((_, reject) => { this.signal.addEventListener("abort", () => reject(this.signal.reason)); });
    }
  }
  export const stock = [class Stock extends Actor { level() { return 7; } }];`;

/** The URL of the process, once it prints it. */
async function urlOf(process: CliProcess): Promise<string> {
  return (await process.until("stdout", /HTTP\s+(http:\S+)/))[1]!;
}

describe("the command line with a running app", () => {
  const folder = tempFolder();
  let dev: CliProcess;
  let url: string;
  /** In this process: a new one for each command would take most of the time. */
  const cli = (...argv: string[]) => runCli(argv, { cwd: folder.path, env: { LIMPET_URL: url } });

  before(async () => {
    folder.write("app.ts", APP);
    dev = new CliProcess(["dev", "app.ts", "--port", "0"], { cwd: folder.path });
    url = await urlOf(dev);
  });

  after(async () => {
    await dev[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("dev prints its address, its actors, and two commands that work as printed", async () => {
    await dev.until("stdout", /Ctrl-C/);
    assert.match(dev.stdout, /is ready \(\d+ ms after start\)/);
    assert.match(dev.stdout, /Actors +Cart, Stock/);
    assert.match(dev.stdout, /Store +\S+\.limpet\/limpet\.db/);
    assert.ok(!dev.stdout.includes(ESCAPE));
    const proposed = [...dev.stdout.matchAll(/^ {2}(?:npx )?limpet (call .*)$/gm)].map((match) => match[1]!);
    assert.equal(proposed.length, 2);
    for (const line of proposed) {
      const shell = spawn("sh", ["-c", `exec "$NODE" "$BIN" ${line}`], {
        env: { NODE: process.execPath, BIN: join(import.meta.dirname, "../src/cli/bin.ts") },
        stdio: "ignore",
      });
      assert.deepEqual(await once(shell, "exit"), [0, null], line);
    }
  });

  test("call prints the result, and the state stays", async () => {
    const first = await spawnCli(["call", "Cart", "bob", "add", '"tea"'], {
      cwd: folder.path,
      env: { LIMPET_URL: url },
    });
    assert.deepEqual(first, { code: 0, stdout: "1\n", stderr: "" });
    assert.deepEqual(await cli("call", "Cart", "bob", "add", '"milk"'), { code: 0, stdout: "2\n", stderr: "" });
    assert.equal((await cli("call", "Cart", "bob", "items", "--json")).stdout, '["tea","milk"]\n');
    assert.equal((await cli("call", "Stock", "x", "level")).stdout, "7\n");
    assert.deepEqual(await cli("call", "Cart", "bob", "nothing"), { code: 0, stdout: "", stderr: "" });
  });

  test("an error of the actor, and an unknown name, give exit code 1 and a sentence", async () => {
    const thrown = await cli("call", "Cart", "bob", "fail");
    assert.deepEqual(thrown, { code: 1, stdout: "", stderr: "limpet: fail of Cart bob threw TypeError: out of tea\n" });
    const method = await cli("call", "Cart", "bob", "ad", "--json");
    assert.equal(method.code, 1);
    assert.equal(JSON.parse(method.stderr).errorCode, "METHOD_UNKNOWN");
    const type = await cli("call", "Carts", "bob", "add");
    assert.equal(type.code, 1);
    assert.match(type.stderr, /Carts/);
  });

  test("actors lists existing actors by type and prefix, for display and as JSON", async () => {
    for (const id of ["list-a", "list-b", "茶"]) await cli("call", "Cart", id, "add", "1");
    const table = await cli("actors", "--type", "Cart", "--prefix", "list-");
    assert.equal(table.code, 0);
    assert.match(table.stdout, /^TYPE +ID +IN MEMORY .*\nCart +list-a +yes .*\nCart +list-b +yes .*\n$/);
    const all = JSON.parse((await cli("actors", "--all", "--json")).stdout);
    assert.ok(all.actors.some(({ id }: { id: string }) => id === "茶"));
    const some = await cli("actors", "--limit", "1");
    assert.match(some.stderr, /Only the first \d+ are shown/);
  });

  test("the explain command shows the work of an actor", async () => {
    await cli("call", "Cart", "carol", "add", "1");
    const idle = await cli("explain", "Cart", "carol");
    assert.equal(idle.code, 0);
    assert.match(idle.stdout, /carol is in memory and idle.*\nIn memory since .*\nIn the store: .*version 1/);
    const unknown = await cli("explain", "Cart", "nobody");
    assert.match(unknown.stdout, /not in memory/);
    assert.equal(JSON.parse((await cli("explain", "Cart", "carol", "--json")).stdout).phase, "idle");
  });

  test("the explain command shows the running turn", async () => {
    await using hanging = new CliProcess(["call", "Cart", "hung", "never"], {
      cwd: folder.path,
      env: { LIMPET_URL: url },
    });
    await dev.until("stderr", /never has begun/);
    const { stdout } = await cli("explain", "Cart", "hung");
    assert.match(stdout, /running never/);
    await hanging.end("SIGINT");
  });

  test("doctor recognises the running app and its store", async () => {
    const { port } = new URL(url);
    const { code, stdout } = await cli("doctor", "--port", port);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /ok +Store +\.limpet\/limpet\.db: SQLite/);
    assert.match(stdout, /ok +Port +127\.0\.0\.1:\d+ is held by limpet .* with Cart, Stock/);
    assert.ok(!stdout.includes(ESCAPE));
  });

  test("a reader that leaves early causes no error", async () => {
    const script = `"$NODE" "$BIN" actors --all | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const shell = spawn("bash", ["-c", script], {
      env: {
        NODE: process.execPath,
        BIN: join(import.meta.dirname, "../src/cli/bin.ts"),
        LIMPET_URL: url,
        PATH: process.env.PATH,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    for (const stream of [shell.stdout, shell.stderr])
      stream.on("data", (chunk) => {
        text += String(chunk);
      });
    await once(shell, "close");
    assert.match(text, /^TYPE .*\n0\n$/);
  });

  test("Ctrl-C stops it cleanly, and nothing is lost", async () => {
    await using last = new CliProcess(["call", "Cart", "dave", "slow"], { cwd: folder.path, env: { LIMPET_URL: url } });
    await waitUntil(async () => /running slow/.test((await cli("explain", "Cart", "dave")).stdout));
    assert.deepEqual(await dev.end("SIGINT"), { code: 0, signal: null }, dev.stderr);
    assert.match(dev.stderr, /Stopping as soon as running turns are done[\s\S]*Stopped\.\n$/);
    assert.equal((await last.exited).code, 0, "the call that was running got its answer");
    await using again = new CliProcess(["dev", "app.ts", "--port", "0"], { cwd: folder.path });
    url = await urlOf(again);
    assert.equal((await cli("call", "Cart", "dave", "items")).stdout, '["slow"]\n');
    assert.equal((await cli("call", "Cart", "bob", "items")).stdout, '["tea","milk"]\n');
    assert.deepEqual(await again.end("SIGTERM"), { code: 0, signal: null });
  });
});

async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 300_000;
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, "it never came true");
    await pause(10);
  }
}

test("a second Ctrl-C ends an app that does not finish", async () => {
  using folder = tempFolder();
  folder.write("app.ts", APP);
  await using dev = new CliProcess(["dev", "app.ts", "--port", "0", "--store", "memory:", "--drain-timeout", "10m"], {
    cwd: folder.path,
  });
  const url = await urlOf(dev);
  await using _call = new CliProcess(["call", "Cart", "x", "never"], { cwd: folder.path, env: { LIMPET_URL: url } });
  await dev.until("stderr", /never has begun/);
  dev.child.kill("SIGINT");
  await dev.until("stderr", /Stopping/);
  // One press may arrive twice, so only a later one counts; the test repeats it as a person would.
  const pressing = setInterval(() => dev.child.kill("SIGINT"), 100);
  const { code } = await dev.exited;
  clearInterval(pressing);
  assert.equal(code, 130);
});

test("dev with JSON output writes one object when it is ready and one when it has stopped", async () => {
  using folder = tempFolder();
  folder.write("app.ts", `${APP}\nexport const tryThese = ["limpet call Cart alice add 5", "curl localhost"];`);
  await using dev = new CliProcess(["dev", "app.ts", "--port", "0", "--json", "--store", "memory:"], {
    cwd: folder.path,
  });
  await dev.until("stdout", /\n/);
  await dev.end("SIGTERM");
  const [ready, stopped] = dev.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(ready.event, "ready");
  assert.deepEqual(ready.actorTypes, ["Cart", "Stock"]);
  assert.match(ready.tryThese[0], new RegExp(`limpet call Cart alice add 5 --url ${ready.url}$`));
  assert.equal(ready.tryThese[1], "curl localhost");
  assert.ok(ready.readyInMs > 0);
  assert.deepEqual(stopped, { event: "stopped" });
});

test("two apps on one store join: ps, where and drain give the same results at both", async () => {
  using folder = tempFolder();
  folder.write("app.ts", APP);
  const start = (name: string) =>
    new CliProcess(["dev", "app.ts", "--port", "0", "--name", name], { cwd: folder.path });
  await using alpha = start("alpha");
  await alpha.until("stdout", /Cluster +1 host, leader here/);
  await using beta = start("beta");
  await beta.until("stdout", /Cluster +joined 1 other host, led by 127\.0\.0\.1:\d+/);
  const urls = [await urlOf(alpha), await urlOf(beta)] as const;
  const cli = (url: string, ...argv: string[]) => runCli(argv, { cwd: folder.path, env: { LIMPET_URL: url } });

  const table = await cli(urls[1], "ps");
  assert.match(table.stdout, /^SCHEDULER .*\n(?:.*\n)*\nHOST +NAME +STATE .*\n(?:.*\n)*\nTYPE +VERSION +PHASE/);
  assert.match(table.stdout, /alpha +member .* Cart, Stock\n/);
  for (const id of ["a", "b", "c", "d"]) {
    const [first, second] = await Promise.all(urls.map((url) => cli(url, "where", "Cart", id, "--json")));
    assert.equal(JSON.parse(first!.stdout).owner, JSON.parse(second!.stdout).owner, id);
    for (const url of urls) assert.equal((await cli(url, "call", "Cart", id, "add", "1")).code, 0);
    assert.equal((await cli(urls[0], "call", "Cart", id, "items")).stdout, "[1,1]\n");
  }

  const unknown = await cli(urls[0], "drain", "gamma");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /limpet ps shows the hosts, with address and name/);
  assert.equal((await cli(urls[0], "drain", "beta")).code, 0);
  await waitUntil(async () => {
    const { tables } = JSON.parse((await cli(urls[0], "ps", "--json")).stdout);
    return tables.every(({ hosts, phase }: ClusterTable) => hosts.length === 1 && phase === "settled");
  });
  assert.match((await cli(urls[1], "where", "Cart", "a")).stdout, /Cart\/a lives on alpha/);
  assert.equal((await cli(urls[1], "call", "Cart", "a", "items")).stdout, "[1,1]\n");
  for (const app of [beta, alpha]) assert.deepEqual(await app.end("SIGTERM"), { code: 0, signal: null }, app.stderr);
});

test("a scheduler prints that it is ready, answers over HTTP, and stops cleanly", async () => {
  using folder = tempFolder();
  const argv = ["scheduler", "--port", "0", "--scheduler-port", "0"];
  await using scheduler = new CliProcess(argv, { cwd: folder.path });
  const url = await urlOf(scheduler);
  await scheduler.until("stdout", /Ctrl-C/);
  assert.match(
    scheduler.stdout,
    /limpet scheduler \S+ is ready[\s\S]* Hosts +127\.0\.0\.1:\d+\n +Leads +yes, term \d+\n/,
  );
  assert.match(scheduler.stdout, /\n {2}(?:npx )?limpet dev app\.ts --schedulers 127\.0\.0\.1:\d+\n/);
  assert.equal((await fetch(`${url}/v1.0/metadata`)).status, 200);
  assert.deepEqual(await scheduler.end("SIGTERM"), { code: 0, signal: null }, scheduler.stderr);
  assert.match(scheduler.stderr, /Stopping; Ctrl-C ends it at once\.[\s\S]*Stopped\.\n$/);
});

test("a scheduler with JSON output writes one object when it is ready and one when it has stopped", async () => {
  using folder = tempFolder();
  const argv = ["scheduler", "--port", "0", "--scheduler-port", "0", "--json"];
  await using scheduler = new CliProcess(argv, { cwd: folder.path });
  await scheduler.until("stdout", /\n/);
  assert.equal((await scheduler.end("SIGINT")).code, 0);
  const [ready, stopped] = scheduler.stdout.trim().split("\n");
  assert.equal(JSON.parse(ready!).event, "ready");
  assert.deepEqual(JSON.parse(stopped!), { event: "stopped" });
});

test("a requested port that is taken is an error; the default port gives way to the next", async () => {
  using folder = tempFolder();
  folder.write("app.ts", APP);
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as { port: number };
  const asked = await spawnCli(["dev", "app.ts", "--store", "memory:", "--port", String(port)], { cwd: folder.path });
  await new Promise((resolve) => taken.close(resolve));
  assert.deepEqual([asked.code, asked.stdout], [1, ""]);
  assert.match(asked.stderr, new RegExp(`limpet: port ${port} is taken\n {8}limpet doctor shows by which program`));

  await using first = new CliProcess(["dev", "app.ts", "--store", "memory:"], { cwd: folder.path });
  const firstUrl = await urlOf(first);
  await using second = new CliProcess(["dev", "app.ts", "--store", "memory:"], { cwd: folder.path });
  const secondUrl = await urlOf(second);
  assert.ok(Number(new URL(secondUrl).port) > Number(new URL(firstUrl).port));
  assert.match(second.stderr, /Port 7300 is taken; using 73\d\d\./);
  assert.match(second.stdout, new RegExp(`--url ${secondUrl}`));
});

test("an app that cannot be loaded gives exit code 1 and a sentence, also when it keeps the process busy", async () => {
  using folder = tempFolder();
  folder.write("busy.ts", "setInterval(() => {}, 1000); export const x = 1;");
  const busy = await spawnCli(["dev", "busy.ts"], { cwd: folder.path });
  assert.equal(busy.code, 1);
  assert.match(busy.stderr, /^limpet: busy\.ts exports x, but neither actors nor workflows\n/);
  folder.write("later.ts", "setTimeout(() => { throw new TypeError('later'); }); await new Promise(() => {});");
  const later = await spawnCli(["dev", "later.ts", "--json"], { cwd: folder.path });
  assert.equal(later.code, 1);
  assert.deepEqual(JSON.parse(later.stderr), {
    errorCode: "MODULE_INVALID",
    message: "later.ts failed while it was loaded: TypeError: later (at later.ts:1:26)",
  });
  assert.ok(!existsSync(join(folder.path, ".limpet")), "nothing was opened");
});

test("an uncaught error stops the app with exit code 1, after running turns have ended", async () => {
  using folder = tempFolder();
  folder.write(
    "app.ts",
    `${APP}\nexport class Bomb extends Actor { go() { setTimeout(() => { throw new RangeError("boom"); }); } }`,
  );
  await using dev = new CliProcess(["dev", "app.ts", "--port", "0", "--store", "memory:"], { cwd: folder.path });
  const url = await urlOf(dev);
  await spawnCli(["call", "Bomb", "x", "go"], { cwd: folder.path, env: { LIMPET_URL: url } });
  assert.equal((await dev.exited).code, 1);
  assert.match(dev.stderr, /limpet: an uncaught error in app\.ts: RangeError: boom \(at app\.ts:\d+:\d+\)/);
  assert.match(dev.stderr, /Stopped\.\n$/);
});

test("a token rejects other clients, and the settings of the folder give its owner access", async () => {
  using folder = tempFolder();
  folder.write("app.ts", APP);
  await using dev = new CliProcess(["dev", "app.ts", "--port", "0", "--store", "memory:"], {
    cwd: folder.path,
    env: { LIMPET_HTTP_TOKENS: "a-token-that-is-long-enough" },
  });
  const url = await urlOf(dev);
  await dev.until("stdout", /with one of the tokens in LIMPET_TOKEN/);
  const stranger = await spawnCli(["call", "Cart", "x", "items"], { cwd: folder.path, env: { LIMPET_URL: url } });
  assert.equal(stranger.code, 1);
  assert.match(stranger.stderr, /set LIMPET_TOKEN, or give --token/);
  const owner = await spawnCli(["call", "Cart", "x", "items"], {
    cwd: folder.path,
    env: { LIMPET_HTTP_PORT: new URL(url).port, LIMPET_HTTP_TOKENS: "a-token-that-is-long-enough" },
  });
  assert.deepEqual(owner, { code: 0, stdout: "[]\n", stderr: "" });
  assert.ok(!(dev.stdout + dev.stderr).includes("a-token-that"));
});

test("--watch restarts on a change, survives a mistake, and stops on Ctrl-C", async () => {
  using folder = tempFolder();
  const word = folder.write("word.ts", 'export const word = "one";\n');
  folder.write(
    "app.ts",
    `import { Actor } from ${LIMPET};\nimport { word } from "./word.ts";\nexport class Echo extends Actor { say() { return word; } }`,
  );
  await using dev = new CliProcess(["dev", "app.ts", "--watch", "--port", "0", "--store", "memory:"], {
    cwd: folder.path,
  });
  let starts = 0;
  const printed = async () => {
    starts += 1;
    const ready = await dev.until("stdout", new RegExp(`(?:HTTP\\s+(http:\\S+)[\\s\\S]*?){${starts}}Ctrl-C`));
    return (await spawnCli(["call", "Echo", "x", "say", "--url", ready[1]!], { cwd: folder.path })).stdout;
  };
  assert.equal(await printed(), '"one"\n');
  writeFileSync(word, 'export const word = "two";\n');
  assert.equal(await printed(), '"two"\n');
  await dev.until("stderr", /word\.ts has changed; restarting/);
  writeFileSync(word, "export const word = = 3;\n");
  await dev.until("stderr", /word\.ts:1 is not valid: [\s\S]*Waiting for a change\./);
  writeFileSync(word, 'export const word = "four";\n');
  assert.equal(await printed(), '"four"\n');
  assert.deepEqual(await dev.end("SIGINT"), { code: 0, signal: null }, dev.stderr);
  assert.match(dev.stderr, /Stopped\.\n$/);
});

test("an app does not outlive its watcher", async () => {
  using folder = tempFolder();
  folder.write("app.ts", APP);
  await using dev = new CliProcess(["dev", "app.ts", "--watch", "--port", "0", "--store", "memory:", "--json"], {
    cwd: folder.path,
  });
  await dev.until("stdout", /"event":"ready"/);
  // The app writes into the same pipe, which closes only when the app has ended too.
  await dev.end("SIGKILL");
  assert.match(dev.stdout, /\{"event":"stopped"\}\n$/);
});
