// The other host. It leaves in good order when it is asked to, and says how many pings it has answered when it is asked
// anything.
import { beTheOther } from "./other-process.ts";
import { openHost, Pinger } from "./ours.ts";

await beTheOther<{ store: string }>(async ({ store }) => {
  const app = await openHost(store);
  return { answer: () => Pinger.answered, stop: () => app.stop() };
});
