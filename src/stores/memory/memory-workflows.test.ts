import { workflowsContract } from "../workflows.contract.ts";
import { MemoryStore } from "./memory-store.ts";

workflowsContract("memory", async () => {
  let passed = 0;
  const store = new MemoryStore(() => Date.now() + passed);
  return {
    store,
    advance: async (ms) => {
      passed += ms;
    },
    dispose: () => store.close(),
  };
});
