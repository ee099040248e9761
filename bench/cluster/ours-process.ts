// The other host. It stops in an orderly way on SIGTERM, and answers every request with its number of
// answered pings.
import { beTheOther } from "./other-process.ts";
import { type HostOptions, openHost, Pinger } from "./ours.ts";

await beTheOther<HostOptions>(async (options) => {
  const app = await openHost(options);
  return { answer: () => Pinger.answered, stop: () => app.stop() };
});
