// Calls to running actors that are placed in two ways, compared in one process: what it costs to find an actor that is where it was.
import type { App } from "../src/index.ts";
import { type Compared, compareInTurn } from "./in-turn.ts";
import { eachOnce, type Pinger, pingOneByOne } from "./load.ts";

/** One of the two is measured for this long, or for so many calls, before it is the other's turn. */
const TURN = { ms: 10, calls: 4_096 } as const;

export function compareCalls(
  one: readonly Pinger[],
  other: readonly Pinger[],
  inFlight: number,
  ms: number,
): Promise<Compared> {
  return compareInTurn(
    ms,
    () => rateOf(one, inFlight),
    () => rateOf(other, inFlight),
  );
}

function rateOf(targets: readonly Pinger[], inFlight: number): Promise<number> {
  if (inFlight === 1) return pingOneByOne(targets[0]!, TURN.ms);
  return eachOnce(TURN.calls, inFlight, async (call) => {
    const answer = await targets[call % targets.length]!.ping(call);
    if (answer !== call + 1) throw new Error(`the answer to ${call} was ${answer}`);
  });
}

/** As many ids as asked for, of those that live where they should. `touch` brings an actor to life, where it has no place before. */
export async function idsOf(
  app: App,
  type: string,
  count: number,
  here: boolean,
  touch: (id: string) => Promise<unknown> = async () => {},
): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; ids.length < count; i++) {
    const id = `pinger-${i}`;
    await touch(id);
    const where = await app.host.where(type, id);
    if (where.here === here) ids.push(id);
  }
  return ids;
}
