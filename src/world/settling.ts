// Waits until a world is calm: every running host is awake and ready, the leader has exactly these hosts, and
// no table changes.
import { formatDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import type { ClusterView } from "../ports/host-admin.ts";
import type { TestHost } from "./test-host.ts";
import type { TestWorld } from "./test-world.ts";

const LOOK_MS = 100;

export async function settle(world: TestWorld, withinMs: number): Promise<void> {
  const deadline = world.now + withinMs;
  for (;;) {
    const problem = await whatIsMissing(world.hosts.filter(({ isUp }) => isUp));
    if (problem === undefined) return;
    if (world.now >= deadline) {
      throw new LimpetError("NOT_SETTLED", `the world is not settled after ${formatDuration(withinMs)}: ${problem}`);
    }
    await world.advance(LOOK_MS);
  }
}

async function whatIsMissing(up: readonly TestHost[]): Promise<string | undefined> {
  const awake = up.find(({ isAsleep }) => !isAsleep);
  if (awake === undefined) return "no host is up and awake";
  for (const host of up) {
    // Its status is from before it fell asleep.
    if (host.isAsleep) return `${host.name} is asleep`;
    const { ready, problem } = host.app.host.status();
    if (!ready) return `${host.name} is not ready: ${problem}`;
  }
  try {
    return whatMoves(await awake.run(({ host }) => host.cluster()), up);
  } catch (error) {
    return `${awake.name} cannot tell: ${(error as Error).message}`;
  }
}

function whatMoves({ hosts, tables }: ClusterView, up: readonly TestHost[]): string | undefined {
  const missing = new Map<string | undefined, string>();
  for (const host of up) {
    if (!host.isUp) return `${host.name} has just gone down`;
    missing.set(host.app.host.status().address, host.name);
  }
  // A restarted host has the address of its predecessor, and the leader may know both for a while.
  for (const { address, name, state } of hosts) {
    if (state !== "member" || !missing.delete(address)) return `to the leader, ${name} is still ${state}`;
  }
  for (const name of missing.values()) return `${name} is unknown to the leader`;
  const moving = tables.find(({ phase }) => phase !== "settled");
  return moving === undefined ? undefined : `the table of ${moving.type} is ${moving.phase}`;
}
