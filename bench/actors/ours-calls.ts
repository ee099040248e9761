// Limpet: calls to running actors that hold no state.
import { Actor, limpet } from "../../src/index.ts";
import type { Make } from "../case.ts";
import { pingInFlight, pingOneByOne } from "../load.ts";

class Pinger extends Actor {
  ping(n: number): number {
    return n + 1;
  }
}

export const oneByOne: Make = async ({ durationMs, warmupMs }) => {
  const app = await limpet({ actors: [Pinger], store: "memory:" });
  const target = app.actor(Pinger, "pinger");
  await pingOneByOne(target, warmupMs);
  return { run: () => pingOneByOne(target, durationMs), close: () => app.stop() };
};

export const inFlight: Make = async ({ durationMs, warmupMs, params }) => {
  const app = await limpet({ actors: [Pinger], store: "memory:" });
  const targets = Array.from({ length: Number(params.actors) }, (_, i) => app.actor(Pinger, `pinger-${i}`));
  await pingInFlight(targets, Number(params.inFlight), warmupMs);
  return { run: () => pingInFlight(targets, Number(params.inFlight), durationMs), close: () => app.stop() };
};
