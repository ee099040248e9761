// DBOS in the process that starts its workflows, which is where they run fastest.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { makeTenSteps } from "../workflows/ten-steps.ts";

const steps = DBOS.registerWorkflow(
  async (count) => {
    let done = 0;
    while (done < count) done = (await DBOS.runStep(async () => done, { name: "nothing" })) + 1;
    return done;
  },
  { name: "steps" },
);

const startEngine = async ({ postgres }) => {
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: postgres, logLevel: "error" });
  await DBOS.launch();
  return { run: (_id, count) => steps(count), close: () => DBOS.shutdown() };
};

export const tenSteps = makeTenSteps(startEngine);
