// Faults of connections: they break, with or without a reset, are refused, and deliver messages twice or
// late.
import type { End } from "../../../src/world/network/network.ts";
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import { KIND } from "../../../src/world/timeline.ts";
import type { Player, Stage } from "../../stage.ts";
import { type Fault, fault, hostNames, lengths, severity, times } from "../fault.ts";
import { between, forget, loseLater } from "./between.ts";
import { leaderOf } from "./players.ts";

interface Hit {
  readonly host: string;
  /** Share of all connections of the host: 0 none, 1 all. */
  readonly share: number;
}

/** A fault of one or more connections of a host. */
function connections(name: string, summary: string, hit: (stage: Stage, end: End) => void): Fault {
  return fault<Hit>({
    name,
    summary,
    draw(chance, plan) {
      const share = severity(chance, 0.05, 1);
      return times(chance, plan, 6, () => ({ host: chance.pick(hostNames(plan)), share: share() }));
    },
    happen(stage, { host, share, at }, strike) {
      const { process } = stage.player(host).host;
      if (process === undefined) return;
      const open = stage.world.network.endsOf(process).filter(({ isConnecting }) => !isConnecting);
      const ends = stage.chance
        .child(`${name} ${at}`)
        .shuffle(open)
        .slice(0, Math.ceil(open.length * share));
      if (ends.length === 0) return;
      strike(host, { connections: ends.length });
      for (const end of ends) hit(stage, end);
    },
  });
}

/** Runs in the process of this end, when it is awake. */
const at = ({ world: { timeline } }: Stage, { station }: End, run: () => void): void =>
  void timeline.plan(timeline.now, KIND.network, station, run);

/** All messages in flight are lost on both sides. */
export function breakBoth(stage: Stage, end: End): void {
  for (const one of [end, end.peer]) if (one !== undefined) at(stage, one, () => one.lose("reset"));
}

export const reset = connections("reset", "a connection is reset by one end", (stage, end) => {
  at(stage, end, () => end.reset("reset"));
});

export const broken = connections(
  "broken connection",
  "a connection breaks, and the messages in flight are lost on both sides",
  (stage, end) => breakBoth(stage, end),
);

export const halfOpen = connections(
  "half-open connection",
  "one end of a connection is notified of its end, and the other one continues until its timeout",
  (stage, end) => {
    const { peer } = end;
    if (peer === undefined) return;
    const { forgotten } = between(stage.world);
    for (const one of [end, peer]) forgotten.add(one);
    at(stage, end, () => end.lose("reset"));
    loseLater(stage.world, peer, stage.chance);
  },
);

export const forgottenConnection = connections(
  "forgotten connection",
  "the network drops a connection without notice: both ends send without effect until they detect the silence",
  (stage, end) => forget(stage.world, end, stage.chance),
);

/** Messages that may be repeated: a sender without an acknowledgement sends them again. */
const REPEATABLE: ReadonlySet<string> = new Set(["ack", "renew", "types", "order", "renewed", "drain"]);

const kindOf = (message: unknown): string | undefined => {
  const sent = message as Partial<VirtualControlMessage>;
  return sent.about === "host" || sent.about === "scheduler"
    ? (sent as { message: { kind: string } }).message.kind
    : undefined;
};

function twice(name: string, summary: string, kinds: ReadonlySet<string>, leastShare: number): Fault {
  return fault<{ share: number; ms: number }>({
    name,
    summary,
    draw(chance, plan) {
      const [share, ms] = [severity(chance, leastShare, 1), lengths(chance, 2_000, 60_000)];
      return times(chance, plan, 2, () => ({ share: share(), ms: ms() }));
    },
    happen(stage, { share, ms, at }, strike) {
      const chance = stage.chance.child(`${name} ${at}`);
      const { copiers } = between(stage.world);
      const copies = (from: End, message: unknown): boolean => {
        const kind = kindOf(message);
        if (kind === undefined || !kinds.has(kind) || !chance.chance(share)) return false;
        strike("", { kind, from: from.station.place, to: from.toPlace });
        return true;
      };
      copiers.add(copies);
      stage.undoAfter(ms, () => copiers.delete(copies));
    },
  });
}

export const sentTwice = twice("said twice", "messages between hosts and the leader arrive twice", REPEATABLE, 0.02);
export const ackedTwice = twice("acked twice", "a host confirms a phase of a round twice", new Set(["ack"]), 0.3);

/** The connections of a host to the leader. */
export function waysToLeader(
  stage: Stage,
  player: Player,
): { readonly leader: Player; readonly ends: readonly End[] } | undefined {
  const leader = leaderOf(stage);
  const { process } = player.host;
  if (leader === undefined || leader === player || process === undefined) return undefined;
  const { place } = leader.host;
  const ends = stage.world.network
    .endsOf(process)
    .filter(({ toPlace, isConnecting }) => toPlace === place && !isConnecting);
  return ends.length === 0 ? undefined : { leader, ends };
}

export const staleStream = fault<{ host: string; waitMs: number; lateMs: number }>({
  name: "stale stream",
  summary: "messages of a host on an old stream arrive after messages on the new one",
  draw(chance, plan) {
    const [waitMs, lateMs] = [lengths(chance, 1, 3_000), lengths(chance, 50, 10_000)];
    return times(chance, plan, 4, () => ({ host: chance.pick(hostNames(plan)), waitMs: waitMs(), lateMs: lateMs() }));
  },
  happen(stage, { host, waitMs, lateMs }, strike) {
    const player = stage.player(host);
    const found = waysToLeader(stage, player);
    if (found === undefined) return;
    // Messages on these connections are late from now on; those on newer connections are not.
    strike(host, { waitMs, lateMs });
    for (const end of found.ends) end.arrival = Math.max(end.arrival, stage.now + waitMs + lateMs);
    stage.later(waitMs, () => {
      for (const end of found.ends) if (end.isOpen) at(stage, end, () => end.reset("reset"));
    });
  },
});

export const refused = fault<{ host: string; door: "link" | "scheduler" | "both"; ms: number }>({
  name: "refused",
  summary: "new connections to a host are refused for a while; established ones continue",
  draw(chance, plan) {
    const ms = lengths(chance, 100, 20_000);
    const doors = ["link", "scheduler", "both"] as const;
    return times(chance, plan, 3, () => {
      return { host: chance.pick(hostNames(plan)), door: chance.pick(doors), ms: ms() };
    });
  },
  happen(stage, { host, door, ms }, strike) {
    const { schedulerAddress, process } = stage.player(host).host;
    const linkAddress = process?.app?.host.status().address;
    if (linkAddress === undefined) return;
    const addresses = {
      link: [linkAddress],
      scheduler: [schedulerAddress],
      both: [linkAddress, schedulerAddress],
    }[door];
    const { refusing } = between(stage.world);
    strike(host, { door, ms });
    for (const address of addresses) refusing.add(address);
    stage.undoAfter(ms, () => {
      for (const address of addresses) refusing.delete(address);
    });
  },
});
