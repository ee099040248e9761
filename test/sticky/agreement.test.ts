// All hosts of a type must agree on its sticky options. A host with other options is rejected, with both
// sides in the message, and has no effect on the others. Sticky types by configuration are here, too: by a
// flag, or by the block of limpet.yaml.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { CliProcess, runCli, tempFolder } from "../support/cli.ts";
import { until } from "./callers.ts";

const LIMPET = JSON.stringify(new URL("../../src/index.ts", import.meta.url).href);

/** An app with two types; `options` are those of the first. */
const appWith = (options: string): string => `import { Actor, sticky } from ${LIMPET};
  export class Cart extends Actor {
    static options = ${options};
    #calls = 0;
    /** Number of calls since its activation. */
    calls() { return ++this.#calls; }
  }
  export class Stock extends Actor { level() { return 7; } }`;

const PLAIN = "{}";
const STICKY = `{ placement: "sticky" }`;

/** A process that cannot join gives up after the sum of these, by its own clock. */
const IMPATIENT = ["--lease", "2s", "--leader-lease", "1s", "--round-timeout", "1s", "--move-timeout", "500ms"];

const CASES = [
  { first: STICKY, second: PLAIN, why: "Cart is sticky on the other hosts and not sticky here" },
  { first: PLAIN, second: STICKY, why: "Cart is not sticky on the other hosts and sticky here" },
  {
    first: STICKY,
    second: `{ placement: sticky({ lost: "never" }) }`,
    why: "Cart is sticky on the other hosts and sticky for ever here",
  },
] as const;

type Folder = ReturnType<typeof tempFolder>;

/** `limpet dev` on the store of that folder, with its own HTTP server. */
function dev(folder: Folder, app: string, ...flags: string[]): CliProcess {
  const store = join(folder.path, "limpet.db");
  return new CliProcess(["dev", app, "--port", "0", "--store", store, ...flags], { cwd: folder.path });
}

async function urlOf(process: CliProcess): Promise<string> {
  return (await process.until("stdout", /HTTP\s+(http:\S+)/))[1]!;
}

const run = async (process: CliProcess, argv: readonly string[]): ReturnType<typeof runCli> =>
  runCli([...argv, "--json"], { env: { LIMPET_URL: await urlOf(process) } });

/**
 * JSON output of a command that is sent to that process. Without a leader the command has no effect and is
 * repeated, as its error requests.
 */
async function ask(process: CliProcess, ...argv: string[]): Promise<unknown> {
  let stdout = "";
  await until(
    async () => {
      const ran = await run(process, argv);
      const isEarly = ran.code !== 0 && ran.stderr.includes('"errorCode":"NOT_READY"');
      if (!isEarly) assert.equal(ran.code, 0, ran.stderr);
      stdout = ran.stdout;
      return !isEarly;
    },
    `an answer to ${argv.join(" ")}`,
  );
  return JSON.parse(stdout);
}

const callOf = (id: string): string[] => ["call", "Cart", id, "calls"];
const calls = (process: CliProcess, id: string): Promise<unknown> => ask(process, ...callOf(id));

/** The same without a repetition: an actor in memory needs no leader. */
async function callsAtOnce(process: CliProcess, id: string): Promise<unknown> {
  const { code, stdout, stderr } = await run(process, callOf(id));
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

/** Sticky types in the cluster of that process. */
async function stickyTypes(process: CliProcess): Promise<string[]> {
  const { types } = (await ask(process, "sticky")) as { types: { type: string }[] };
  return types.map(({ type }) => type);
}

describe("hosts that differ about a sticky type", { timeout: 600_000 }, () => {
  for (const { first, second, why } of CASES) {
    test(`hosts with different sticky options cannot form a cluster: ${why}`, async () => {
      using folder = tempFolder();
      folder.write("first.ts", appWith(first));
      folder.write("second.ts", appWith(second));
      await using here = dev(folder, "first.ts");
      assert.equal(await calls(here, "alice"), 1);
      await using there = dev(folder, "second.ts", ...IMPATIENT);
      let asked = 1;
      let end: Awaited<CliProcess["exited"]> | undefined;
      void there.exited.then((how) => {
        end = how;
      });
      await until(async () => {
        // All the time, and in the same activation.
        assert.equal(await callsAtOnce(here, "alice"), ++asked);
        assert.doesNotMatch(there.stdout, /ready/);
        return end !== undefined;
      }, "the second process gives up");
      assert.deepEqual(end, { code: 1, signal: null }, there.stderr);
      assert.ok(there.stderr.includes(`${why}; all hosts of a type must have the same setting`), there.stderr);
      assert.equal(await callsAtOnce(here, "alice"), asked + 1);
      assert.equal(await calls(here, "bob"), 1);
      assert.deepEqual(await stickyTypes(here), first === STICKY ? ["Cart"] : []);
      assert.deepEqual(await here.end("SIGTERM"), { code: 0, signal: null });
    });
  }

  test("hosts agree when a flag gives one the options of the class of the other", async () => {
    using folder = tempFolder();
    folder.write("first.ts", appWith(STICKY));
    folder.write("second.ts", appWith(PLAIN));
    await using here = dev(folder, "first.ts");
    assert.equal(await calls(here, "alice"), 1);
    await using there = dev(folder, "second.ts", "--sticky", "Cart");
    assert.equal(await calls(there, "alice"), 2);
    assert.deepEqual(await stickyTypes(there), ["Cart"]);
  });
});

const BLOCKS = [
  { block: "{ enabled: true, byType: [Stock] }", sticky: ["Stock"] },
  { block: "{ enabled: true, byType: [Cart, Elsewhere] }", sticky: ["Cart"] },
  { block: "{ enabled: true }", sticky: ["Cart", "Stock"] },
  { block: "{ enabled: false }", sticky: [] },
] as const;

describe("limpet.yaml", { timeout: 600_000 }, () => {
  for (const { block, sticky } of BLOCKS) {
    test(`limpet.yaml with stickiness: ${block} overrides the classes`, async () => {
      using folder = tempFolder();
      folder.write("app.ts", appWith(STICKY));
      folder.write("limpet.yaml", `kind: Configuration\nspec: { actor: { placement: { stickiness: ${block} } } }\n`);
      await using one = dev(folder, "app.ts");
      await calls(one, "alice");
      assert.deepEqual((await stickyTypes(one)).sort(), sticky);
    });
  }

  test("actors stay when another process with the same limpet.yaml joins", async () => {
    using folder = tempFolder();
    folder.write("app.ts", appWith(PLAIN));
    const stickiness = "{ enabled: true, byType: [Cart] }";
    folder.write("limpet.yaml", `spec: { actor: { placement: { stickiness: ${stickiness} } } }\nlogLevel: warn\n`);
    await using one = dev(folder, "app.ts");
    const ids = Array.from({ length: 30 }, (_, i) => `cart-${i}`);
    for (const id of ids) assert.equal(await calls(one, id), 1);
    await using two = dev(folder, "app.ts");
    // In its memory, although the ring assigns half of them to the other.
    for (const id of ids) assert.equal(await calls(two, id), 2);
    const { tables } = (await ask(two, "ps")) as { tables: { type: string; hosts: string[] }[] };
    assert.equal(tables.find(({ type }) => type === "Cart")!.hosts.length, 2);
    const { types } = (await ask(two, "sticky")) as { types: { holders: { actors: number }[] }[] };
    assert.deepEqual(
      types[0]!.holders.map(({ actors }) => actors),
      [30],
    );
  });
});
