// Implements the ports with the clock and the random numbers of this machine.
import { randomFillSync } from "node:crypto";
import { performance } from "node:perf_hooks";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { Settle } from "../ports/workflow-code.ts";

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

/**
 * Random bytes are drawn for many ids at once: one by one they cost ten times as much. Each byte is used
 * once.
 */
const ID_BYTES = 16;
const drawn = Buffer.alloc(256 * ID_BYTES);
let used = drawn.length;

function newId(): string {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  used += ID_BYTES;
  return drawn.toString("base64url", used - ID_BYTES, used);
}

export const systemRandom: Random = { number: () => Math.random(), id: newId };

/** A tick runs when no promise callback is pending. */
export const systemSettle: Settle = () => new Promise<void>((resolve) => process.nextTick(resolve));
