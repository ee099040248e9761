// The contract of shards on every store, as one suite: memory, SQLite, PostgreSQL and the virtual database
// all run it. It opens the store once and gives each test a namespace of its own, so a slow store is slow
// only once.
import { after, before, describe } from "node:test";
import { shardClosingContract } from "./contract/shards-closing.contract.ts";
import { shardCrowdContract } from "./contract/shards-crowd.contract.ts";
import { shardHomesContract } from "./contract/shards-homes.contract.ts";
import { shardModelContract } from "./contract/shards-model.contract.ts";
import { rememberedContract } from "./contract/shards-remembered.contract.ts";
import { shardRulesContract } from "./contract/shards-rules.contract.ts";
import type { OpenedShards, ShardsHarness, ShardsOptions } from "./contract/shards-shared.contract.ts";

export type { OpenedShards, ShardsOptions } from "./contract/shards-shared.contract.ts";

/**
 * Registers the suite. `open` opens an empty store; it is called a few times, and each result is disposed of.
 */
export function shardsContract(name: string, open: () => Promise<OpenedShards>, options: ShardsOptions = {}): void {
  describe(`contract of shards on the ${name} store`, () => {
    let opened: OpenedShards | undefined;
    before(async () => {
      opened = await open();
    });
    after(async () => {
      await opened?.dispose();
    });
    const harness: ShardsHarness = { open, opened: () => opened as OpenedShards };
    shardRulesContract(harness);
    shardHomesContract(harness);
    rememberedContract(harness);
    shardCrowdContract(harness);
    shardModelContract(harness, options);
    shardClosingContract(harness);
  });
}
