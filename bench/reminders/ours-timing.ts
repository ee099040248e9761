// Limpet: reminders that are set in a process without actors, and handled in another one.
import { limpet } from "../../src/index.ts";
import type { Settings } from "../case.ts";
import { ACTORS, idOf, nameOf, Sink, startHosts } from "./ours.ts";
import { makeDueLater, makeDueNow, type Timed } from "./timing.ts";

async function start({ postgres }: Settings): Promise<Timed> {
  const handlers = await startHosts({ store: postgres }, 1);
  const app = await limpet({ actors: [], store: postgres });
  return {
    handlers,
    set: (item, due) =>
      app.reminders.set(Sink.name, idOf(item, ACTORS), nameOf(item), {
        due: due === undefined ? 0 : new Date(due),
        data: item,
      }),
    async close() {
      await app.stop();
      await handlers.end();
    },
  };
}

export const now = makeDueNow(start);
export const later = makeDueLater(start);
