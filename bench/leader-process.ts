// The process of a leader: a scheduler without hosts. It answers every request with its processor time in
// milliseconds.
import { resolveSettings } from "../src/config/settings.ts";
import { openScheduler } from "../src/host/app.ts";
import { silentLog } from "../src/ports/log.ts";
import { beTheOther } from "./cluster/other-process.ts";
import type { LeaderOptions } from "./leader.ts";

await beTheOther<LeaderOptions>(async ({ store }) => {
  const app = await openScheduler(resolveSettings({ code: { store }, file: false, env: {} }), { log: silentLog });
  const { address } = app.host.status().scheduler ?? {};
  if (address === undefined) throw new Error("the scheduler has no address");
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  return { hello: address, answer: cpuMs, stop: () => app.stop() };
});
