// Limpet: cost of a ring of 1,000 hosts. The figures are those that bench/cluster/ring.ts prints.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Make } from "../case.ts";
import { RING_JOIN, RING_LEAVE, RING_LOOKUPS } from "./figures.ts";

const RING = fileURLToPath(new URL("./ring.ts", import.meta.url));
const LIMIT_MS = 300_000;
const FACTORS: Readonly<Record<string, number>> = { ms: 1_000, µs: 1, "M/s": 1_000_000 };

export const ring: Make = async () => ({
  async run() {
    const { stdout } = await promisify(execFile)(process.execPath, [RING], { timeout: LIMIT_MS });
    return {
      [RING_JOIN]: figureOf(stdout, "a host joins, its hashes known"),
      [RING_LEAVE]: figureOf(stdout, "a host leaves"),
      [RING_LOOKUPS]: figureOf(stdout, "owners of ids"),
    };
  },
  close: async () => {},
});

/** Microseconds, or times per second. */
function figureOf(text: string, what: string): number {
  const line = text.split("\n").find((it) => it.startsWith(`${what} `));
  const [, number, unit] = /\s([\d.]+) (\S+)$/.exec(line ?? "") ?? [];
  const factor = FACTORS[unit ?? ""];
  if (factor === undefined) throw new Error(`the ring says nothing of "${what}"`);
  return Number(number) * factor;
}
