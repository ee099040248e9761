// Limpet: the measured workflows, in a process that starts and runs them.
import { type App, limpet, signal, workflow } from "../../src/index.ts";
import type { Settings } from "../case.ts";
import { monotonicMs } from "../reminders/moments.ts";
import type { Engine } from "./engine.ts";

let onStep: (step: number) => void = () => {};

/** Takes a step that does nothing. */
const step = async (number: number): Promise<number> => {
  onStep(number);
  return number;
};

const steps = workflow("steps", async (ctx, count: number) => {
  let done = 0;
  while (done < count) done = (await ctx.activity(step, done)) + 1;
  return done;
});

export const go = signal<number>("go");
/** Time at which the code of the workflow continued after a wake-up, by the number of the wake-up. */
export const woken = new Map<number, (moment: number) => void>();

/** Takes its steps, and then waits again and again. */
export const waiter = workflow("waiter", async (ctx, count: number) => {
  for (let done = 0; done < count; ) done = (await ctx.activity(step, done)) + 1;
  for (;;) {
    const wake = await ctx.signal(go);
    woken.get(wake)?.(monotonicMs());
    // So that a replay does not repeat all of these, too.
    woken.delete(wake);
  }
});

export const storeOf = ({ postgres, folder }: Settings): string => postgres || `${folder}/limpet.db`;

type WorkerOptions = NonNullable<Exclude<Parameters<typeof limpet>[0], undefined>["worker"]>;

export const open = (store: string, worker: WorkerOptions = true): Promise<App> =>
  limpet({ workflows: [steps, waiter], activities: { step }, store, worker });

/** No run is in progress. */
export const isAtRest = (app: App): boolean => /^limpet_workflows_working\{.*\} 0$/m.test(app.metrics());

export async function startEngine(settings: Settings, stepped: (step: number) => void): Promise<Engine> {
  onStep = stepped;
  const app = await open(storeOf(settings));
  let runs = 0;
  return {
    async run(id, count) {
      const handle = await app.workflows.start(steps, { id: `workflow-${id}`, input: count });
      const result = await handle.result();
      runs++;
      return result;
    },
    async close() {
      await app.stop();
      const again = await open(storeOf(settings));
      const stored = await again.workflows.count({ type: steps.name, status: "completed" });
      await again.stop();
      if (stored !== runs) throw new Error(`${runs} workflows have ended, and ${stored} are stored`);
    },
  };
}
