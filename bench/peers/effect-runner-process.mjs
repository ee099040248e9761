// The other runner. Asked with a list of ids, it answers which of them it holds.
import { beTheOther } from "../cluster/other-process.ts";
import { startRunner } from "./effect-runner.mjs";

await beTheOther(async (parameter) => {
  const runner = await startRunner(parameter);
  return { answer: (ids) => ids.map(runner.holds), stop: runner.stop };
});
