import { shardsContract } from "../shards.contract.ts";
import { MemoryStore } from "./memory-store.ts";

shardsContract("memory", async () => {
  const store = new MemoryStore();
  return { store, dispose: () => store.close() };
});
