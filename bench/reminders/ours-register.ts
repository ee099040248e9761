// Limpet: reminders set from outside actors, each awaited until it is stored.
import { join } from "node:path";
import pg from "pg";
import type { Make } from "../case.ts";
import { repeat } from "../load.ts";
import { ACTORS, idOf, nameOf, openHost, Sink } from "./ours.ts";

export const register: Make = async ({ postgres, folder, durationMs, warmupMs, params }) => {
  const app = await openHost({ store: postgres || join(folder, "ours.db") });
  const inFlight = Number(params.inFlight);
  let next = 0;
  const set = () => {
    const item = next++;
    return app.reminders.set(Sink, idOf(item, ACTORS), nameOf(item), { due: "1h", data: item });
  };
  await repeat(set, inFlight, warmupMs);
  return {
    run: async () => (await repeat(set, inFlight, durationMs)).rate,
    async close() {
      await app.stop();
      if (postgres === "") return;
      const client = new pg.Client({ connectionString: postgres });
      await client.connect();
      const { rows } = await client.query<{ n: string }>("SELECT count(*) AS n FROM limpet.reminders");
      await client.end();
      if (Number(rows[0]!.n) !== next) throw new Error(`${next} were set, and ${rows[0]!.n} are stored`);
    },
  };
};
