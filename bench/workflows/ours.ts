// Limpet: the workflow whose steps are measured, in a process that starts and runs it.
import { type App, limpet, workflow } from "../../src/index.ts";
import type { Settings } from "../case.ts";
import type { Engine } from "./ten-steps.ts";

const nothing = async (step: number): Promise<number> => step;

const steps = workflow("steps", async (ctx, count: number) => {
  let done = 0;
  while (done < count) done = (await ctx.activity(nothing, done)) + 1;
  return done;
});

const open = (store: string): Promise<App> => limpet({ workflows: [steps], activities: { nothing }, store });

async function startEngine({ postgres, folder }: Settings): Promise<Engine> {
  const app = await open(postgres || `sqlite:${folder}/limpet.db`);
  return {
    async run(id, count) {
      const handle = await app.workflows.start(steps, { id: `workflow-${id}`, input: count });
      return handle.result();
    },
    close: () => app.stop(),
  };
}

export { startEngine };
