// Limpet: reminders that are set in one process and handled in another one.
import { type App, limpet } from "../../src/index.ts";
import type { Settings } from "../case.ts";
import { until } from "../until.ts";
import type { Handlers } from "./handlers.ts";
import { ACTORS, hostsOf, idOf, nameOf, openHost, Sink, startHosts } from "./ours.ts";
import { makeDueLater, makeDueNow, type Timed } from "./timing.ts";

/** Set in a process without actors: it sends due reminders to the other process, which claims later ones. */
async function fromOutside({ postgres }: Settings): Promise<Timed> {
  const handlers = await startHosts({ store: postgres }, 1);
  const app = await limpet({ actors: [], store: postgres });
  return timed(app, handlers, (item) => idOf(item, ACTORS));
}

/**
 * Set in a process that hosts the same type, for actors of the other one: the setting process claims the
 * reminder, and delivers it there.
 */
async function fromHost({ postgres }: Settings): Promise<Timed> {
  const handlers = await startHosts({ store: postgres }, 1);
  const app = await openHost({ store: postgres });
  await until("a cluster of two", async () => (await hostsOf(app)) === 2);
  const ids: string[] = [];
  for (let i = 0; ids.length < ACTORS; i++) {
    const { here } = await app.host.where(Sink.name, idOf(i, Number.MAX_SAFE_INTEGER));
    if (!here) ids.push(idOf(i, Number.MAX_SAFE_INTEGER));
  }
  return timed(app, handlers, (item) => ids[item % ACTORS]!);
}

const timed = (app: App, handlers: Handlers, id: (item: number) => string): Timed => ({
  handlers,
  set: (item, due) =>
    app.reminders.set(Sink.name, id(item), nameOf(item), {
      due: due === undefined ? 0 : new Date(due),
      data: item,
    }),
  async close() {
    await app.stop();
    await handlers.end();
  },
});

export const now = makeDueNow(fromHost);
export const nowFromOutside = makeDueNow(fromOutside);
export const later = makeDueLater(fromOutside);
