// Restate: its server beside this process, which starts the workflows and has their code.
import { service } from "@restatedev/restate-sdk";
import { makeTenSteps } from "../workflows/ten-steps.ts";
import { RestateServer } from "./restate-server.mjs";

const steps = service({
  name: "steps",
  handlers: {
    run: async (ctx, count) => {
      let done = 0;
      while (done < count) done = (await ctx.run("nothing", () => done)) + 1;
      return done;
    },
  },
});

const startEngine = async ({ folder }) => {
  const server = await RestateServer.start(folder, [steps]);
  return { run: (_id, count) => server.call("/steps/run", count), close: () => server.close() };
};

export const tenSteps = makeTenSteps(startEngine);
