// A host that handles reminders and counts them.
import { beTheOther } from "../cluster/other-process.ts";
import { type HostOptions, hostsOf, openHost, tally } from "./ours.ts";
import type { TallyQuestion } from "./tally.ts";

await beTheOther<HostOptions>(async (options) => {
  const app = await openHost(options);
  return {
    answer: (question: TallyQuestion | "hosts") => (question === "hosts" ? hostsOf(app) : tally.answer(question)),
    stop: () => app.stop(),
  };
});
