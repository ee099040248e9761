// Limpet: calls to running actors without state, sticky and placed by the hash of their id, in turn.
import { idsOf, warmCalls } from "../warm-calls.ts";
import { answered, HashPinger, openHost, StickyPinger, settled, startOtherHost } from "./actors.ts";
import { WARM_FIGURES } from "./figures.ts";

export const { local, remote } = warmCalls({
  answered,
  openHost,
  startOtherHost,
  settled,
  figures: WARM_FIGURES,
  async targets(app, count, here) {
    const sticky = await idsOf(app, StickyPinger.name, count, here);
    const hash = await idsOf(app, HashPinger.name, count, here);
    return [sticky.map((id) => app.actor(StickyPinger, id)), hash.map((id) => app.actor(HashPinger, id))];
  },
  async check(app, count) {
    const { actors } = await app.host.sticky({ type: StickyPinger.name, limit: count + 1 });
    if (actors.length !== count) throw new Error(`${actors.length} of ${count} actors are held as sticky ones`);
  },
});
