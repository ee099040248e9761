import { Prng } from "../kernel/prng.ts";
import type { Store } from "../ports/store.ts";
import { shardsContract } from "../stores/shards.contract.ts";
import { Database } from "./database.ts";
import { Dummy, SelfRunning } from "./world-kit.test.ts";

let places = 0;

shardsContract("virtual", async () => {
  const database = new Database(new SelfRunning(), new Prng("contract"));
  const open = async (): Promise<Store> => database.open(new Dummy(++places));
  const store = await open();
  return { store, second: open, reopen: open, dispose: () => store.close() };
});
