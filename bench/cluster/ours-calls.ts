// Limpet: calls from one host process to actors that live in the other one.
import type { Make } from "../case.ts";
import { pingInFlight, pingOneByOne } from "../load.ts";
import { until } from "../until.ts";
import { isSettled, openHost, Pinger, startOtherHost } from "./ours.ts";

export const calls: Make = async ({ postgres, durationMs, warmupMs, params }) => {
  const options = { store: postgres, failover: "auto" } as const;
  const app = await openHost(options);
  const other = await startOtherHost(options);
  await until("a cluster of two", () => isSettled(app, 2));
  const ids: string[] = [];
  for (let i = 0; ids.length < Number(params.actors); i++) {
    const { here } = await app.host.where(Pinger.name, `pinger-${i}`);
    if (!here) ids.push(`pinger-${i}`);
  }
  const targets = ids.map((id) => app.actor(Pinger, id));
  const inFlight = Number(params.inFlight);
  const measure = (ms: number) =>
    inFlight === 1 ? pingOneByOne(targets[0]!, ms) : pingInFlight(targets, inFlight, ms);
  await measure(Number(params.warmups) * warmupMs);
  return {
    async run() {
      const before = (await other.ask("answered")) as number;
      const start = performance.now();
      const rate = await measure(durationMs);
      const calls = (rate * (performance.now() - start)) / 1000;
      const there = ((await other.ask("answered")) as number) - before;
      // The clock was read at other moments, so the number of calls is not exact.
      if (Math.abs(there / calls - 1) > 0.02) throw new Error(`the other host answered ${there} of ${calls} calls`);
      if (Pinger.answered > 0) throw new Error(`${Pinger.answered} calls were answered in the process that made them`);
      return rate;
    },
    async close() {
      await other.end("SIGTERM");
      await app.stop();
    },
  };
};
