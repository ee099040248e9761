// Another host. It leaves in good order when it is asked to, and says how many pings it has answered when it is asked anything.
import { beTheOther } from "../cluster/other-process.ts";
import { answered, type HostOptions, openHost } from "./actors.ts";

await beTheOther<HostOptions>(async (options) => {
  const app = await openHost(options);
  return { answer: () => answered.pings, stop: () => app.stop() };
});
