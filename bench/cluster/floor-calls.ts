// Least cost of a call between two processes: a number and a payload over one socket, and back.
import { once } from "node:events";
import { connect } from "node:net";
import type { Make } from "../case.ts";
import { type Pinger, pingInFlight, pingOneByOne } from "../load.ts";
import { FrameLink } from "./frames.ts";
import { OtherProcess } from "./other-process.ts";

export const calls: Make = async ({ durationMs, warmupMs, params }) => {
  const other = await OtherProcess.start("cluster/floor-echo-process.ts", {});
  const socket = connect(other.hello as number, "127.0.0.1");
  await once(socket, "connect");
  const waiting = new Map<number, (n: number) => void>();
  const link = new FrameLink(socket, (number, n) => {
    const resolve = waiting.get(number)!;
    waiting.delete(number);
    resolve(n as number);
  });
  let last = 0;
  const pinger: Pinger = {
    ping: (n) =>
      new Promise((resolve) => {
        waiting.set(++last, resolve);
        link.send(last, n);
      }),
  };
  const [actors, inFlight] = [Number(params.actors), Number(params.inFlight)];
  const targets = Array.from({ length: actors }, () => pinger);
  const measure = (ms: number) => (inFlight === 1 ? pingOneByOne(pinger, ms) : pingInFlight(targets, inFlight, ms));
  await measure(Number(params.warmups) * warmupMs);
  return {
    run: () => measure(durationMs),
    async close() {
      socket.destroy();
      await other.end("SIGTERM");
    },
  };
};
