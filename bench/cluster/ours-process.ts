// The other host. It leaves in good order when it is asked to, and says how many pings it has answered when it is asked
// anything.
import { beTheOther } from "./other-process.ts";
import { type HostOptions, openHost, Pinger } from "./ours.ts";

await beTheOther<HostOptions>(async (options) => {
  const app = await openHost(options);
  return { answer: () => Pinger.answered, stop: () => app.stop() };
});
