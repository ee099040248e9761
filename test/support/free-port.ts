// A port that is free now, and stays free over a restart: it is below the range from which the machine takes
// ports for outgoing connections.
import assert from "node:assert/strict";
import { createServer } from "node:net";

/** Ranges do not overlap, so that tests that run at once do not take each other's ports. */
export const DATABASE_PORTS = [20_000, 32_000] as const;
const SCHEDULER_PORTS = [12_000, 20_000] as const;

export async function freePort([from, to]: readonly [from: number, to: number] = SCHEDULER_PORTS): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = from + Math.floor(Math.random() * (to - from));
    const probe = createServer();
    const free = await new Promise<boolean>((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
  assert.fail(`no free port between ${from} and ${to}`);
}
