// Limpet: time without new grants after a change of leaders. Two schedulers have a process each; hosts
// without actors, which hold so many sticky actors together, are in this one. The leader stops, the other one
// takes over, and every host reports its actors to it. The measurement begins with the first welcome of the
// new leader, and ends when a host gets the grant of a new actor, which needs the complete reports of all
// hosts.
import { join } from "node:path";
import { setImmediate as soon } from "node:timers/promises";
import type { SchedulerMessage } from "../../src/ports/control-messages.ts";
import type { Make } from "../case.ts";
import { LeaderProcess } from "../leader.ts";
import { Fleet, type FleetListener } from "../stand-in-hosts.ts";
import { until } from "../until.ts";
import { StickyPinger } from "./actors.ts";
import { LEADER_TOTAL, UNTIL_GRANTS } from "./figures.ts";
import { idOf } from "./ids.ts";

const LIMIT_MS = 60_000;
const STEP = 1_000;

class Watch implements FleetListener {
  /** Waits for the welcome of a leader with a later term than this. */
  term = Number.POSITIVE_INFINITY;
  welcomeAt: number | undefined;
  grantAt: number | undefined;
  failure: Error | undefined;

  received(message: SchedulerMessage): void {
    if (message.kind !== "welcome") return;
    if (message.term > this.term) this.welcomeAt ??= performance.now();
  }

  answered(_: unknown, __: string, error: Error | undefined): void {
    this.grantAt ??= performance.now();
    this.failure ??= error;
  }
}

export const failover: Make = async ({ folder, params }) => {
  const store = join(folder, "ours.db");
  const leaders = [await LeaderProcess.start({ store }), await LeaderProcess.start({ store })] as const;
  const watch = new Watch();
  const fleet = await Fleet.join(Number(params.hosts), leaders, watch, StickyPinger);
  const actors = Number(params.actors);
  // As if each had been granted; the stopping leader need not know. Leases have to be renewed meanwhile.
  for (let i = 0; i < actors; i++) {
    const host = fleet.hosts[i % fleet.hosts.length]!;
    host.placement.sticky.holdings.hold(StickyPinger.name, idOf(i), Date.now());
    if (i % STEP === 0) await soon();
  }
  if (fleet.held !== actors) throw new Error(`a host has lost its lease: ${fleet.held} of ${actors} actors are held`);
  const [before, after] = leaders;
  return {
    async run() {
      const view = await fleet.hosts[0]!.describe();
      const leads = view.schedulers.find(({ leader }) => leader)?.address;
      const [old, next] = leads === before.address ? [before, after] : [after, before];
      watch.term = view.term;
      const cpu = await next.cpuMs();
      await old.end();
      // Each host requests some as soon as it has reported its actors.
      for (let i = 0; i < fleet.hosts.length * 10; i++) {
        const id = `new-${idOf(i)}`;
        fleet.ownerOf(id).ask(id);
      }
      await until("a grant of the new leader", () => watch.grantAt !== undefined, LIMIT_MS);
      const cpuMs = (await next.cpuMs()) - cpu;
      if (watch.failure !== undefined) throw watch.failure;
      const { tables } = await fleet.hosts[0]!.describe();
      const held = tables
        .flatMap(({ sticky }) => sticky?.holders ?? [])
        .reduce((sum, holder) => sum + holder.actors, 0);
      if (held < actors) throw new Error(`the new leader knows of ${held} of ${actors} actors`);
      return { [UNTIL_GRANTS]: watch.grantAt! - watch.welcomeAt!, [LEADER_TOTAL]: cpuMs };
    },
    async close() {
      fleet.leave();
      await before.end();
      await after.end();
    },
  };
};
