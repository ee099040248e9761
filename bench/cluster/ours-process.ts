// The other host. It leaves in good order when it is asked to.
import { beTheOther } from "./other-process.ts";
import { openHost } from "./ours.ts";

await beTheOther<{ store: string }>(async ({ store }) => {
  const app = await openHost(store);
  return { stop: () => app.stop() };
});
