// Effect of changes of the hosts on callers. One process pings every actor again and again, never twice at
// once, while another process joins, leaves or dies. A gap is the time between two answers of one actor.
import { pause, until } from "../until.ts";
import { FAILED_CALLS, GAP_OF_MOVED, GAP_OF_OTHERS } from "./figures.ts";
import { GapWatch } from "./gap-watch.ts";

export const EVENTS = ["join", "leave", "kill"] as const;
export type DisturbanceEvent = (typeof EVENTS)[number];

/** A cluster with one host in this process, and sometimes another one in its own process. */
export interface DisturbedCluster {
  /** Rejects when the call failed. */
  ping(actor: number): Promise<void>;
  /** The owners of the actors, in order, as comparable values. */
  owners(): Promise<readonly unknown[]>;
  /** All hosts know that there are so many hosts, and nothing moves any more. */
  settled(hosts: number): Promise<boolean>;
  /** Starts the other host. */
  join(): Promise<void>;
  /** Resolves when its process has ended. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

export interface DisturbanceOptions {
  readonly actors: number;
  readonly everyMs: number;
  /** Duration of the undisturbed phase before, and of the observation afterwards. */
  readonly calmMs: number;
}

/** Far beyond every lease and timeout involved. */
const SETTLE_LIMIT_MS = 180_000;
/** Longest wait for pending calls at the end. */
const STOP_LIMIT_MS = 5_000;

export async function disturb(
  cluster: DisturbedCluster,
  event: DisturbanceEvent,
  { actors, everyMs, calmMs }: DisturbanceOptions,
): Promise<Record<string, number>> {
  const settled = (hosts: number) =>
    until(`a cluster of ${hosts} at rest`, () => cluster.settled(hosts), SETTLE_LIMIT_MS);
  if (event !== "join") await cluster.join();
  await settled(event === "join" ? 1 : 2);

  const watch = new GapWatch(actors);
  const stop = pingAll(cluster, watch, actors, everyMs);
  try {
    await everyoneAnswers(watch);
    await pause(calmMs);
    const before = await cluster.owners();
    watch.begin();
    if (event === "join") await cluster.join();
    else await cluster.end(event === "leave" ? "SIGTERM" : "SIGKILL");
    await settled(event === "join" ? 2 : 1);
    await everyoneAnswers(watch);
    await pause(calmMs);
    watch.end();
    const after = await cluster.owners();
    if (watch.failures > 0) process.stderr.write(`    the first call that failed: ${watch.firstFailure}\n`);
    const moved = before.map((owner, actor) => owner !== after[actor]);
    if (moved.every((it) => it === moved[0])) throw new Error(`${moved[0] ? "every" : "no"} actor moved`);
    return {
      [GAP_OF_MOVED]: watch.longest((actor) => moved[actor]!),
      [GAP_OF_OTHERS]: watch.longest((actor) => !moved[actor]!),
      [FAILED_CALLS]: watch.failures,
    };
  } finally {
    await stop();
  }
}

/** Each actor's pings begin at a different moment, so that they do not come all at once. */
function pingAll(cluster: DisturbedCluster, watch: GapWatch, actors: number, everyMs: number): () => Promise<void> {
  let stopped = false;
  const loop = async (actor: number) => {
    await pause((everyMs * actor) / actors);
    while (!stopped) {
      const sent = performance.now();
      await cluster.ping(actor).then(
        () => watch.answered(actor, sent, performance.now()),
        (error: unknown) => watch.failed(error),
      );
      await pause(Math.max(everyMs - (performance.now() - sent), 1));
    }
  };
  const loops = Array.from({ length: actors }, (_, actor) => loop(actor));
  return async () => {
    stopped = true;
    await Promise.race([Promise.all(loops), pause(STOP_LIMIT_MS)]);
  };
}

/** Resolves when every actor has answered a call that was sent after this call. */
function everyoneAnswers(watch: GapWatch): Promise<void> {
  const since = performance.now();
  return until("an answer of every actor", () => watch.allAnsweredSince(since), SETTLE_LIMIT_MS);
}
