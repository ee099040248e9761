// Limpet: number of actors that have to leave memory because hosts come and go, in virtual time. So many
// actors are on hosts that stay; guests join and leave again, one after the other, and some actors become
// active while each of them is there. After each change every actor is called, so that evicted actors are
// active again.
import { Actor, type ActorOptions, type App } from "../../src/index.ts";
import { openWorld, type TestHost } from "../../src/testing.ts";
import type { Make } from "../case.ts";
import { DRAINED_BY_LEAVING, DRAINED_BY_STAYING } from "./figures.ts";

class HashCart extends Actor {
  ping(n: number): number {
    return n + 1;
  }
}

class StickyCart extends HashCart {
  static options: ActorOptions = { placement: "sticky" };
}

export interface ChurnOptions {
  readonly placement: "sticky" | "hash";
  /** Hosts that stay. */
  readonly hosts: number;
  /** Hosts that join and leave. */
  readonly guests: number;
  readonly actors: number;
  /** Actors that become active while one guest is there. */
  readonly born: number;
}

export const churn: Make = async ({ params }) => ({
  async run() {
    const { byStaying, byLeaving } = await drainedIn(params as unknown as ChurnOptions);
    return { [DRAINED_BY_STAYING]: byStaying, [DRAINED_BY_LEAVING]: byLeaving };
  },
  close: async () => {},
});

export async function drainedIn({ placement, hosts, guests, actors, born }: ChurnOptions) {
  const type = placement === "sticky" ? StickyCart : HashCart;
  const names = [...Array(hosts).keys()].map((i) => `stays-${i}`);
  const guestNames = [...Array(guests).keys()].map((i) => `guest-${i}`);
  await using world = await openWorld({ actors: [type], hosts: [...names, ...guestNames], seed: 1 });
  for (const guest of guestNames) await world.stopHost(guest);
  const staying = names.map((name) => world.host(name));
  let count = actors;
  let byLeaving = 0;
  await callAll(staying, type, count);
  for (const name of guestNames) {
    const guest = world.host(name);
    await world.restart(guest);
    count += born;
    await callAll([...staying, guest], type, count);
    const { app } = guest;
    await world.stopHost(guest);
    byLeaving += drainedBy(app);
    await callAll(staying, type, count);
  }
  return { byStaying: staying.reduce((sum, { app }) => sum + drainedBy(app), 0), byLeaving };
}

/** Calls every actor through one of these hosts, so that it is active on one of them. */
async function callAll(hosts: readonly TestHost[], type: typeof HashCart, count: number): Promise<void> {
  const ids = [...Array(count).keys()];
  const shares = hosts.map((_, share) => ids.filter((i) => i % hosts.length === share));
  await Promise.all(
    hosts.map((host, share) =>
      host.run(async (app) => {
        const answers = await Promise.all(shares[share]!.map((i) => app.actor(type, `cart-${i}`).ping(i)));
        if (answers.some((answer, i) => answer !== shares[share]![i]! + 1)) throw new Error("an answer is wrong");
      }),
    ),
  );
  const active = hosts.reduce((sum, { app }) => sum + app.host.types()[0]!.active, 0);
  if (active !== count) throw new Error(`${active} of ${count} actors are in memory`);
}

/** Number of actors that it had to release because of the cluster. */
function drainedBy(app: App): number {
  const lines = app.metrics().split("\n");
  const counts = lines.filter((line) => line.startsWith("limpet_host_drained_actors_total{"));
  return counts.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
