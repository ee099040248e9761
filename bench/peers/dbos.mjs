// DBOS in the process that starts its workflows, which is where they run fastest.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { makeLongRun } from "../workflows/long-run.ts";
import { makeReplay } from "../workflows/replay.ts";
import { makeTenSteps } from "../workflows/ten-steps.ts";

let told = () => {};
let begun = 0;
let replayed = () => {};

const takeSteps = async (count) => {
  begun = performance.now();
  let done = 0;
  while (done < count) {
    const step = async () => {
      told(done);
      return done;
    };
    done = (await DBOS.runStep(step, { name: "step" })) + 1;
  }
  replayed(performance.now() - begun);
  return done;
};

const steps = DBOS.registerWorkflow(takeSteps, { name: "steps" });

const launch = async ({ postgres }) => {
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: postgres, logLevel: "error" });
  await DBOS.launch();
};

const startEngine = async (settings, stepped) => {
  told = stepped;
  await launch(settings);
  return { run: (_id, count) => steps(count), close: () => DBOS.shutdown() };
};

/**
 * A workflow is run again from its recorded steps when it is forked behind the last of them. What is measured begins with its code and not
 * with the fork, which is picked up within a second; so waking one without steps takes nothing here.
 */
const startReplays = async (settings) => {
  await launch(settings);
  return {
    async record(count) {
      const handle = await DBOS.startWorkflow(steps)(count);
      await handle.getResult();
      const wake = async () => {
        const { promise, resolve } = Promise.withResolvers();
        replayed = resolve;
        const fork = await DBOS.forkWorkflow(handle.workflowID, count);
        const took = await promise;
        await fork.getResult();
        return took;
      };
      return { wake: count === 0 ? async () => 0 : wake };
    },
    close: () => DBOS.shutdown(),
  };
};

export const tenSteps = makeTenSteps(startEngine);
export const longRun = makeLongRun(startEngine);
export const replay = makeReplay(startReplays);
