// Limpet: effect on callers when another host joins, leaves or dies.
import type { Make } from "../case.ts";
import { type DisturbanceEvent, disturb } from "./disturbance.ts";
import type { OtherProcess } from "./other-process.ts";
import { isSettled, openHost, Pinger, startOtherHost } from "./ours.ts";

export const disturbance: Make = async ({ postgres, quick, params }) => {
  const actors = Number(params.actors);
  const ids = Array.from({ length: actors }, (_, i) => `pinger-${i}`);
  const host = { store: postgres, failover: params.failover === "lease" ? "lease" : "auto" } as const;
  const app = await openHost(host);
  const targets = ids.map((id) => app.actor(Pinger, id));
  let other: OtherProcess | undefined;
  const cluster = {
    async ping(actor: number) {
      const answer = await targets[actor]!.ping(actor);
      if (answer !== actor + 1) throw new Error(`the answer to ${actor} was ${answer}`);
    },
    owners: () => Promise.all(ids.map(async (id) => (await app.host.where(Pinger.name, id)).owner)),
    settled: (hosts: number) => isSettled(app, hosts),
    async join() {
      other = await startOtherHost(host);
    },
    end: (signal: "SIGTERM" | "SIGKILL") => other!.end(signal),
  };
  const options = { actors, everyMs: Number(params.everyMs), calmMs: quick ? 500 : 2_000 };
  return {
    run: () => disturb(cluster, params.event as DisturbanceEvent, options),
    async close() {
      await other?.end("SIGKILL");
      await app.stop();
    },
  };
};
