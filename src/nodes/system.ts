// The real world behind the ports: this machine's clock and chance.
import { randomBytes } from "node:crypto";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { Settle } from "../ports/settle.ts";

/** Node fires a longer timer at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn, background): Timer {
    let left = ms;
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const part = Math.min(Math.max(Math.ceil(left), 0), LONGEST_TIMER_MS);
      left -= part;
      timer = setTimeout(() => (left > 0 ? arm() : fn()), part);
      if (background !== undefined) timer.unref();
    };
    arm();
    return { cancel: () => clearTimeout(timer) };
  },
  soon: (fn) => void setImmediate(fn),
};

export const systemRandom: Random = {
  number: () => Math.random(),
  id: () => randomBytes(16).toString("base64url"),
};

/** Ticks run when no promise has anything left to tell. */
export const systemSettle: Settle = () => new Promise<void>((resolve) => process.nextTick(resolve));
