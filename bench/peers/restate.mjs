// Restate: its server beside this process, which starts the workflows and has their code.
import { service } from "@restatedev/restate-sdk";
import { makeLongRun } from "../workflows/long-run.ts";
import { makeReplay } from "../workflows/replay.ts";
import { makeTenSteps } from "../workflows/ten-steps.ts";
import { RestateServer } from "./restate-server.mjs";

/** Whoever waits longer leaves memory. Far more than a step takes. */
const INACTIVE_MS = 300;

let told = () => {};
const waiting = new Map();
const woken = new Map();

const takeSteps = async (ctx, count) => {
  let done = 0;
  while (done < count) {
    const step = () => {
      told(done);
      return done;
    };
    done = (await ctx.run("step", step)) + 1;
  }
  return done;
};

const steps = service({ name: "steps", handlers: { run: takeSteps } });

const waiter = service({
  name: "waiter",
  handlers: {
    run: async (ctx, { name, count }) => {
      await takeSteps(ctx, count);
      for (;;) {
        const { id, promise } = ctx.awakeable();
        waiting.get(name)?.(id, ctx.request().id);
        await promise;
        woken.get(id)?.(performance.now());
        woken.delete(id);
      }
    },
  },
  options: { inactivityTimeout: INACTIVE_MS },
});

const startEngine = async ({ folder }, stepped) => {
  told = stepped;
  const server = await RestateServer.start(folder, [steps]);
  return { run: (_id, count) => server.call("/steps/run", count), close: () => server.close() };
};

const startReplays = async ({ folder }) => {
  const server = await RestateServer.start(folder, [waiter]);
  return {
    async record(count) {
      const name = `waiter-${waiting.size}`;
      const ids = [];
      waiting.set(name, (id) => {
        if (!ids.includes(id)) ids.push(id);
      });
      const { invocationId } = await server.call("/waiter/run/send", { name, count });
      let wakes = 0;
      const wake = async () => {
        await server.untilSuspended(invocationId);
        const id = ids[wakes++];
        const { promise, resolve } = Promise.withResolvers();
        woken.set(id, resolve);
        const begin = performance.now();
        await server.call(`/restate/awakeables/${id}/resolve`, null);
        return (await promise) - begin;
      };
      await server.untilSuspended(invocationId);
      return { wake };
    },
    close: () => server.close(),
  };
};

export const tenSteps = makeTenSteps(startEngine);
export const longRun = makeLongRun(startEngine);
export const replay = makeReplay(startReplays);
