// The command with the real HTTP server in front of a fake host; and the reset, which works on a store.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runCli } from "../../../test/support/cli.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { ShardsView } from "../../ports/shard-admin.ts";
import { newCandidate } from "../../stores/contract/coordination-shared.contract.ts";
import { openSqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { FakeHost, openTestServer } from "../../wire/http/server-kit.test.ts";

const host = { address: "10.0.0.5:7401", name: "alpha", incarnation: "i-1", build: "", leaving: false };
const VIEW: Omit<ShardsView, "type"> = {
  shards: 20,
  strategy: "custom",
  paused: true,
  faults: 2,
  told: [{ shard: 3, host: "beta" }],
  hosts: [
    { ...host, shards: [0, 7], actors: [3, 1_000] },
    { ...host, address: "10.0.0.6:7401", name: "", build: "2", leaving: true, shards: [3], actors: undefined },
  ],
  moving: [
    {
      shard: 3,
      phase: "stopping",
      reason: "leave",
      from: "10.0.0.6:7401",
      to: undefined,
      forMs: 1_500,
      waitsFor: ["10.0.0.6:7401"],
    },
  ],
  moved: [
    { shard: 7, reason: "balance", from: "10.0.0.6:7401", to: "10.0.0.5:7401", tookMs: 12.4, forced: true, at: 0 },
    ...Array.from({ length: 11 }, (_, shard) => {
      return { shard, reason: "by hand" as const, from: "x:1", to: undefined, tookMs: 3, forced: false, at: 0 };
    }),
  ],
};

async function open(t: TestContext, view = VIEW) {
  const fake = new FakeHost();
  fake.shardsView = view;
  const { url } = await openTestServer(t, fake);
  return { fake, shards: (...argv: string[]) => runCli(["shards", ...argv, "--url", url]) };
}

test("limpet shards shows homes, actors, moves in progress and finished moves, for display and for programs", async (t) => {
  const { shards } = await open(t);
  const { code, stdout } = await shards("Cart");
  assert.equal(code, 0);
  const lines = stdout.split("\n");
  assert.deepEqual(lines.slice(0, 12), [
    "Cart: 20 shards, 3 of them in use.",
    "Strategy: each shard goes where the strategy of the application places it.",
    "Rebalancing is paused: only shards of hosts that leave move.",
    "Homes are assigned for 1 shard.",
    "The strategy failed 2 times; the logs show why.",
    "No actor counts from 10.0.0.6:7401: no answer in time.",
    "HOST           NAME   BUILD  SHARDS  ACTORS  STATE",
    "10.0.0.5:7401  alpha  -           2    1003  -",
    "10.0.0.6:7401  -      2           1       ?  leaving",
    "",
    "Moving: 1 shard.",
    "SHARD  FROM           TO  WHY    PHASE      FOR  WAITS FOR",
  ]);
  assert.match(lines[12]!, /^ +3 +10\.0\.0\.6:7401 +\? +leave +stopping +1\.5s +10\.0\.0\.6:7401$/);
  assert.equal(lines[14], "Last moves, 10 of 12:");
  assert.match(lines[16]!, /ago\) +7 +10\.0\.0\.6:7401 +10\.0\.0\.5:7401 +balance +12ms +some actors were given up$/);
  assert.match((await shards("Cart", "--moves")).stdout, /Last moves:/);
  assert.deepEqual(
    JSON.parse((await shards("Cart", "--json")).stdout),
    JSON.parse(JSON.stringify({ ...VIEW, type: "Cart" })),
  );
});

test("limpet shards without a type shows all types, one line each", async (t) => {
  const { fake, shards } = await open(t);
  const nothing = await shards();
  assert.deepEqual([nothing.code, nothing.stdout], [0, ""]);
  assert.match(nothing.stderr, /^No hosted type is sharded\..*placement: sharded\(\)/);
  fake.summaries = [
    {
      type: "Cart",
      shards: 1_000,
      used: 734,
      moving: 0,
      hosts: 2,
      actors: 103_913,
      strategy: "least",
      paused: false,
      faults: 0,
    },
    {
      type: "Feed",
      shards: 8,
      used: 8,
      moving: 1,
      hosts: 12,
      actors: undefined,
      strategy: "custom",
      paused: true,
      faults: 1,
    },
  ];
  assert.deepEqual((await shards()).stdout.split("\n"), [
    "TYPE  SHARDS  IN USE  MOVING  HOSTS  ACTORS  STRATEGY  STATE",
    "Cart    1000     734       0      2  103913  least     -",
    "Feed       8       8       1     12       ?  custom    paused, strategy failed 1 time",
    "",
  ]);
  assert.deepEqual(JSON.parse((await shards("--json")).stdout), JSON.parse(JSON.stringify({ types: fake.summaries })));
});

test("limpet shards --homes shows every shard with a home", async (t) => {
  const { shards } = await open(t);
  const { stdout } = await shards("Cart", "--homes");
  assert.equal(
    stdout,
    "SHARD  HOST           NAME   ACTORS\n" +
      "    0  10.0.0.5:7401  alpha       3\n" +
      "    3  10.0.0.6:7401  -           ?\n" +
      "    7  10.0.0.5:7401  alpha    1000\n",
  );
  const nothing = await open(t, { ...VIEW, hosts: [] });
  assert.equal((await nothing.shards("Cart", "--homes")).stdout, "No shard of Cart is in use.\n");
});

test("limpet shards moves a shard, pauses and resumes rebalancing, and assigns homes", async (t) => {
  const { fake, shards } = await open(t);
  assert.equal((await shards("Cart", "--move", "7=alpha")).stdout, "Shard 7 of Cart moves to alpha.\n");
  assert.match((await shards("Cart", "--pause")).stdout, /Rebalancing of Cart is paused/);
  assert.deepEqual(JSON.parse((await shards("Cart", "--resume", "--json")).stdout), { type: "Cart", paused: false });
  assert.equal((await shards("Cart", "--allocate", "7=10.0.0.5:7401", "--allocate", "8=")).code, 0);
  assert.deepEqual(fake.steered, [
    ["Cart", { kind: "move", shard: 7, host: "alpha" }],
    ["Cart", { kind: "pause", paused: true }],
    ["Cart", { kind: "pause", paused: false }],
    [
      "Cart",
      {
        kind: "allocate",
        places: [
          { shard: 7, host: "10.0.0.5:7401" },
          { shard: 8, host: undefined },
        ],
      },
    ],
  ]);
});

test("invalid usage of limpet shards is rejected before any request", async (t) => {
  const { fake, shards } = await open(t);
  for (const argv of [
    ["--pause"],
    ["--move", "7=alpha"],
    ["--homes"],
    ["--reset", "--store", "state.db"],
    ["Cart", "--pause", "--resume"],
    ["Cart", "--move", "seven=alpha"],
    ["Cart", "--move", "7="],
    ["Cart", "--move", "7=alpha", "--move", "8=alpha"],
    ["Cart", "--allocate", "alpha"],
    ["Cart", "--allocate", "7=alpha", "--allocate", "7=beta"],
    ["a/b"],
  ]) {
    assert.equal((await shards(...argv)).code, 2, argv.join(" "));
  }
  assert.deepEqual(fake.steered, []);
});

test("a type without shards is an error with the option to shard it", async (t) => {
  const { fake, shards } = await open(t);
  fake.shards = async () => {
    throw new LimpetError("NOT_SHARDED", "no host has actors of Cart that live in shards");
  };
  const { code, stderr } = await shards("Cart");
  assert.equal(code, 1);
  assert.match(stderr, /live in shards[\s\S]*placement: sharded\(\)/);
});

test("a type is reset in its store, unless a host has it", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "limpet-reset-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "state.db");
  const store = await openSqliteStore(file);
  const rule = (shards: number) => ({ namespace: "default", type: "Cart", shards, version: "hash" });
  await store.shards.settle(rule(5));
  const { term } = await store.coordination.campaign(newCandidate());
  const member = { namespace: "default", incarnation: "i-1", address: "10.0.0.5:7401", machine: "other", pid: 1 };
  const note = (types: readonly string[]) =>
    store.coordination.persist(term, [{ kind: "save", member: { ...member, types }, isKnown: false }]);
  await note(["Cart"]);
  const reset = () => runCli(["shards", "Cart", "--reset", "--store", file], { cwd: folder });
  const refused = await reset();
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /10\.0\.0\.5:7401; stop them first/);
  assert.equal((await store.shards.settle(rule(6))).shards, 5);
  await store.coordination.leave(["i-1"]);
  assert.deepEqual(await reset(), {
    code: 0,
    stdout: `The shard function of Cart is deleted in ${file}, namespace default; its next host sets it again.\n`,
    stderr: "",
  });
  assert.equal((await store.shards.settle(rule(6))).shards, 6);
  await store.close();
});
