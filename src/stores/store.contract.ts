// The contract of every store, as one suite: memory, SQLite and PostgreSQL all run it. It opens the store
// once and gives each test a namespace of its own, so a slow store is slow only once.
import { after, before, describe } from "node:test";
import { closingContract } from "./contract/closing.contract.ts";
import { crowdContract } from "./contract/crowd.contract.ts";
import { fenceContract } from "./contract/fence.contract.ts";
import { listingContract } from "./contract/listing.contract.ts";
import { modelContract } from "./contract/model.contract.ts";
import type { ContractOptions, Harness, OpenedStore } from "./contract/shared.contract.ts";
import { stateContract } from "./contract/state.contract.ts";

export type { ContractOptions, OpenedStore } from "./contract/shared.contract.ts";

/**
 * Registers the suite. `open` opens an empty store; it is called a few times, and each result is disposed of.
 */
export function storeContract(name: string, open: () => Promise<OpenedStore>, options: ContractOptions = {}): void {
  describe(`contract of actors on the ${name} store`, () => {
    let opened: OpenedStore | undefined;
    before(async () => {
      opened = await open();
    });
    after(async () => {
      await opened?.dispose();
    });
    const harness: Harness = {
      open,
      opened: () => opened as OpenedStore,
      store: () => (opened as OpenedStore).store,
    };
    fenceContract(harness);
    stateContract(harness);
    listingContract(harness);
    crowdContract(harness);
    modelContract(harness, options);
    closingContract(harness);
  });
}
