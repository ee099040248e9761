// Another host. It stops in an orderly way on SIGTERM, and answers every request with its number of answered
// pings.
import { beTheOther } from "../cluster/other-process.ts";
import { answered, type HostOptions, openHost } from "./actors.ts";

await beTheOther<HostOptions>(async (options) => {
  const app = await openHost(options);
  return { answer: () => answered.pings, stop: () => app.stop() };
});
