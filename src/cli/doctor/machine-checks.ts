// Checks Node and the clocks of this machine.

import { setTimeout as pause } from "node:timers/promises";
import { type Check, fail, passed, warn } from "./check.ts";

const OLDEST_NODE = 24;
const WATCHED_MS = 200;
/** Tolerated difference between the two clocks over this short interval. */
const TOLERATED_MS = 50;
/** Limpet did not exist earlier; a clock that shows less was never set. */
const EARLIEST = Date.UTC(2025, 0, 1);

export function checkNode(version = process.versions.node): Check {
  const major = Number(version.split(".")[0]);
  if (major >= OLDEST_NODE) return passed("Node", version);
  return fail(
    "Node",
    `${version} is too old; limpet needs ${OLDEST_NODE} or newer`,
    "Install it from https://nodejs.org",
  );
}

export interface Clocks {
  now(): number;
  monotonic(): number;
  pause(ms: number): Promise<unknown>;
}

const SYSTEM: Clocks = { now: () => Date.now(), monotonic: () => performance.now(), pause: (ms) => pause(ms) };

export async function checkClock(clocks: Clocks = SYSTEM): Promise<Check> {
  const wall = clocks.now();
  const steady = clocks.monotonic();
  await clocks.pause(WATCHED_MS);
  const drift = Math.abs(clocks.now() - wall - (clocks.monotonic() - steady));
  const shown = new Date(wall).toISOString();
  if (wall < EARLIEST) return fail("Clock", `it shows ${shown}, which is in the past`, "Set it, preferably by NTP.");
  if (drift > TOLERATED_MS) {
    const message = `the wall clock moved by ${Math.round(drift)} ms against the steady one within ${WATCHED_MS} ms`;
    return warn("Clock", message, "A program adjusts it now; if this happens often, check NTP.");
  }
  return passed("Clock", `${shown}, running evenly`);
}
