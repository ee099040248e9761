// Least cost of a call: an async method of a plain object, awaited.
import type { Make } from "../case.ts";
import { type Pinger, pingInFlight, pingOneByOne } from "../load.ts";

class PlainPinger implements Pinger {
  async ping(n: number): Promise<number> {
    return n + 1;
  }
}

export const oneByOne: Make = async ({ durationMs, warmupMs }) => {
  const target = new PlainPinger();
  await pingOneByOne(target, warmupMs);
  return { run: () => pingOneByOne(target, durationMs), close: async () => {} };
};

export const inFlight: Make = async ({ durationMs, warmupMs, params }) => {
  const targets = Array.from({ length: Number(params.actors) }, () => new PlainPinger());
  await pingInFlight(targets, Number(params.inFlight), warmupMs);
  return { run: () => pingInFlight(targets, Number(params.inFlight), durationMs), close: async () => {} };
};
