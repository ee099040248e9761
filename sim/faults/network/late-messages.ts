// Messages between hosts and the leader that arrive after the change that made them obsolete. Meanwhile
// another leader has taken over, or the host has a new stream or a new incarnation. An old connection
// delivers its messages late and in their order; newer connections are not slower.
// Every message has arrived when the chaos ends.
import type { End } from "../../../src/world/network/network.ts";
import { KIND } from "../../../src/world/timeline.ts";
import type { Player, Stage } from "../../stage.ts";
import { fault, hostNames, lengths, some, times } from "../fault.ts";
import { takeAway } from "../types.ts";
import { crashAndRestart, isWorking, leaderOf, stopAndRestart } from "./players.ts";
import { waysToLeader } from "./streams.ts";

/** A shorter delay ends before anything has changed. */
const SHORTEST_MS = 200;
/** Longer than the lease of a host, and than the takeover of a leader. */
export const LONGEST_LATE_MS = 15_000;

/** Longest delay of messages from now on; undefined when the chaos is almost over. */
export function lateFor({ now, plan }: Pick<Stage, "now" | "plan">, lateMs: number): number | undefined {
  const ms = Math.min(lateMs, plan.chaosMs - now);
  return ms < SHORTEST_MS ? undefined : ms;
}

/** All messages that these ends send from now on arrive at that time or later, in their order. */
export function holdBack(stage: Pick<Stage, "now">, ends: Iterable<End | undefined>, ms: number): void {
  for (const end of ends) if (end !== undefined) end.arrival = Math.max(end.arrival, stage.now + ms);
}

/** The process of this end resets the connection. The peer gets the reset after all earlier messages. */
export function resetAt({ world: { timeline } }: Stage, end: End): void {
  if (end.isOpen) timeline.plan(timeline.now, KIND.network, end.station, () => end.reset("reset"));
}

const BACK_MS = 100;
const LEADER_ENDS = ["dies", "stops", "hangs"] as const;

interface LateLeader {
  /** Leaves and returns, so that the leader sends orders. */
  readonly leaver: string;
  readonly hosts: readonly string[];
  readonly how: (typeof LEADER_ENDS)[number];
  /** From the first message that is held back to the end of the leader. */
  readonly waitMs: number;
  readonly lateMs: number;
  readonly awayMs: number;
}

function endLeader(stage: Stage, leader: Player, { how, awayMs }: LateLeader): void {
  if (how === "dies") crashAndRestart(stage, leader, false, awayMs);
  else if (how === "stops") stopAndRestart(stage, leader, awayMs);
  else stage.sleep(leader, awayMs, "pause");
}

export const lateLeader = fault<LateLeader>({
  name: "late messages of a leader",
  summary: "messages of a leader arrive at some hosts after its term is over",
  draw(chance, plan) {
    const [waitMs, lateMs] = [lengths(chance, 1, 4_000), lengths(chance, 1_000, LONGEST_LATE_MS)];
    const awayMs = lengths(chance, 100, 20_000);
    return times(chance, plan, 4, () => ({
      leaver: chance.pick(hostNames(plan)),
      hosts: some(chance, hostNames(plan)),
      how: chance.pick(LEADER_ENDS),
      waitMs: waitMs(),
      lateMs: lateMs(),
      awayMs: awayMs(),
    }));
  },
  happen(stage, planned, strike) {
    const { leaver, hosts, how, waitMs } = planned;
    const leader = leaderOf(stage);
    const lateMs = lateFor(stage, waitMs + planned.lateMs);
    if (leader === undefined || lateMs === undefined || !isWorking(leader)) return;
    const ends = hosts.flatMap((name) => waysToLeader(stage, stage.player(name))?.ends ?? []);
    if (ends.length === 0) return;
    const { process } = leader.host;
    strike(leader.host.name, { how, waitMs, lateMs, awayMs: planned.awayMs, connections: ends.length });
    holdBack(
      stage,
      ends.map(({ peer }) => peer),
      lateMs,
    );
    if (leaver !== leader.planned.name) stopAndRestart(stage, stage.player(leaver), BACK_MS);
    stage.later(waitMs, () => {
      if (leader.host.process === process && isWorking(leader)) endLeader(stage, leader, planned);
    });
  },
});

const HOST_CHANGES = ["stream", "types", "restart", "lease"] as const;

interface LateHost {
  readonly host: string;
  readonly change: (typeof HOST_CHANGES)[number];
  /** From the first message that is held back to the change. */
  readonly waitMs: number;
  readonly lateMs: number;
  readonly awayMs: number;
}

export const lateHost = fault<LateHost>({
  name: "late messages of a host",
  summary: "messages of a host arrive at the leader after it has a new stream, or comes back as a new incarnation",
  draw(chance, plan) {
    const [waitMs, lateMs] = [lengths(chance, 1, 4_000), lengths(chance, 1_000, LONGEST_LATE_MS)];
    const awayMs = lengths(chance, 10, 5_000);
    return times(chance, plan, 4, () => ({
      host: chance.pick(hostNames(plan)),
      change: chance.pick(HOST_CHANGES),
      waitMs: waitMs(),
      lateMs: lateMs(),
      awayMs: awayMs(),
    }));
  },
  happen(stage, { host, change, waitMs, lateMs: drawnMs, awayMs }, strike) {
    const player = stage.player(host);
    const { process } = player.host;
    const ways = waysToLeader(stage, player);
    // Without renewals the host gives everything up and rejoins by itself, if its lease ends before.
    const lateMs = lateFor(stage, change === "lease" ? LONGEST_LATE_MS : waitMs + drawnMs);
    if (ways === undefined || lateMs === undefined || !isWorking(player)) return;
    strike(host, { change, waitMs, lateMs, awayMs });
    holdBack(stage, ways.ends, lateMs);
    if (change === "types") takeAway(stage, player, player.types.slice(0, 1), waitMs + awayMs);
    stage.later(waitMs, () => {
      if (player.host.process !== process || !isWorking(player)) return;
      if (change === "stream" || change === "types") for (const end of ways.ends) resetAt(stage, end);
      else if (change === "restart") crashAndRestart(stage, player, false, awayMs);
    });
  },
});
