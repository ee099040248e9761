import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../../kernel/errors.ts";
import type { ShardsOfHost, ShardsView } from "../../ports/shard-admin.ts";
import { summarise } from "./shard-views.ts";

const host: Omit<ShardsOfHost, "shards" | "actors"> = {
  address: "10.0.0.5:7401",
  name: "alpha",
  incarnation: "i-1",
  build: "",
  leaving: false,
};
const view = (type: string, hosts: readonly ShardsOfHost[]): ShardsView => ({
  type,
  shards: 20,
  strategy: "least",
  paused: true,
  faults: 2,
  hosts,
  moved: [],
  told: [],
  moving: [
    { shard: 3, phase: "stopping", reason: "leave", from: "10.0.0.6:1", to: undefined, forMs: 1_500, waitsFor: [] },
  ],
});
const fails = (code: "NOT_SHARDED" | "NOT_READY" | "NOT_LEADER"): never => {
  throw new LimpetError(code, "no");
};

describe("summaries of all sharded types", () => {
  it("summaries are in order of type, with sums over their hosts", async () => {
    const hosts = [
      { ...host, shards: [0, 7], actors: [3, 1_000] },
      { ...host, shards: [1], actors: [5] },
    ];
    const seen = await summarise(["Cart", "Agent"], async (type) => view(type, type === "Cart" ? hosts : []));
    const same = { shards: 20, strategy: "least", paused: true, faults: 2, moving: 1 };
    assert.deepEqual(seen, [
      { ...same, type: "Agent", hosts: 0, used: 0, actors: 0 },
      { ...same, type: "Cart", hosts: 2, used: 3, actors: 1_008 },
    ]);
  });

  it("the number of actors is unknown when one of the hosts does not report it", async () => {
    const hosts = [
      { ...host, shards: [0], actors: [3] },
      { ...host, shards: [1], actors: undefined },
    ];
    const [seen] = await summarise(["Cart"], async (type) => view(type, hosts));
    assert.deepEqual([seen?.used, seen?.actors], [2, undefined]);
  });

  it("types without an answer are left out, unless there is no answer for any type", async () => {
    const ask = async (type: string) => {
      if (type === "Plain") return fails("NOT_SHARDED");
      return type === "Silent" ? fails("NOT_READY") : view(type, []);
    };
    const names = async (...types: string[]) => (await summarise(types, ask)).map(({ type }) => type);
    assert.deepEqual(await names("Plain", "Silent", "Cart"), ["Cart"]);
    assert.deepEqual(await names("Plain"), []);
    await assert.rejects(names("Plain", "Silent"), { code: "NOT_READY" });
    await assert.rejects(
      summarise(["Cart", "Feed"], async () => fails("NOT_LEADER")),
      { code: "NOT_LEADER" },
    );
  });
});
