// Faults of schedulers, and of hosts that join and leave, during rounds.
import type { Operation } from "../../src/ports/control-messages.ts";
import type { VirtualControlMessage } from "../../src/world/network/virtual-control.ts";
import type { Player, Stage, TrapEvent } from "../stage.ts";
import { type Fault, fault, hostNames, lengths, times } from "./fault.ts";
import { between, forget } from "./network/between.ts";
import { atMoment, crashAndRestart, isWorking, leaderOf, stopAndRestart } from "./network/players.ts";

interface MidRound {
  /** Number of the order, counted from the time of the fault. */
  readonly nth: number;
  /** Leaves and returns, so that there is a round. */
  readonly host: string;
  readonly ms: number;
  readonly quietly: boolean;
}

const isOrder =
  (operation: Operation) =>
  (event: TrapEvent): boolean => {
    if (event.kind !== "sent") return false;
    const sent = event.message as VirtualControlMessage;
    return sent.about === "scheduler" && sent.message.kind === "order" && sent.message.operation === operation;
  };

/** A fault of the leader after it has sent a number of orders of one kind. */
function midRound(
  name: string,
  summary: string,
  operation: Operation,
  hit: (stage: Stage, leader: Player, planned: MidRound) => void,
): Fault {
  return fault<MidRound>({
    name,
    summary,
    draw(chance, plan) {
      const [ms, nth] = [lengths(chance, 10, 30_000), lengths(chance, 1, 12)];
      return times(chance, plan, 3, () => {
        return { nth: nth(), host: chance.pick(hostNames(plan)), ms: ms(), quietly: chance.chance(0.5) };
      });
    },
    happen(stage, planned, strike) {
      atMoment(stage, planned.nth, isOrder(operation), (leader) => {
        strike(leader.host.name, { nth: planned.nth, quietly: planned.quietly });
        hit(stage, leader, planned);
      });
      const other = stage.player(planned.host);
      if (isWorking(other) && leaderOf(stage) !== other) stopAndRestart(stage, other, 100);
    },
  });
}

const dies = (stage: Stage, leader: Player, { quietly, ms }: MidRound): void =>
  crashAndRestart(stage, leader, quietly, ms);
const hangs = (stage: Stage, leader: Player, { ms }: MidRound): void => stage.sleep(leader, ms, "pause");

export const leaderDiesAtLock = midRound(
  "leader dies at lock",
  "the leader ends between lock and update",
  "lock",
  dies,
);
export const leaderDiesAtUpdate = midRound(
  "leader dies at update",
  "the leader ends when some hosts have their update and others have not",
  "update",
  dies,
);
export const leaderDiesAtUnlock = midRound(
  "leader dies at unlock",
  "the leader ends when some hosts are unlocked and others are not",
  "unlock",
  dies,
);
export const leaderHangsAtLock = midRound(
  "leader hangs at lock",
  "the leader hangs in the middle of a lock",
  "lock",
  hangs,
);
export const leaderHangsAtUpdate = midRound(
  "leader hangs at update",
  "the leader hangs when some hosts have their update",
  "update",
  hangs,
);
export const leaderHangsAtUnlock = midRound(
  "leader hangs at unlock",
  "the leader hangs when some hosts are unlocked",
  "unlock",
  hangs,
);

export const schedulersDie = fault<{ quietly: boolean; restartMs: number[] }>({
  name: "schedulers die",
  summary: "all processes that could lead end at once",
  draw(chance, plan) {
    const restartMs = lengths(chance, 10, 20_000);
    return times(chance, plan, 2, () => ({ quietly: chance.chance(0.5), restartMs: plan.hosts.map(restartMs) }));
  },
  happen(stage, { quietly, restartMs }, strike) {
    const dedicated = stage.players.filter(({ planned }) => planned.dedicated);
    const could = dedicated.length > 0 ? dedicated : stage.players.filter(({ planned }) => !planned.watches);
    const there = could.filter(({ host }) => host.process !== undefined);
    if (there.length === 0) return;
    strike("", { quietly, hosts: there.map(({ host }) => host.name).join() });
    for (const player of there) {
      crashAndRestart(stage, player, quietly, restartMs[stage.players.indexOf(player)] ?? 0);
    }
  },
});

export const leaderDies = fault<{ quietly: boolean; restartMs: number }>({
  name: "leader dies",
  summary: "the leader ends, and the next leader may end as well",
  draw(chance, plan) {
    const restartMs = lengths(chance, 10, 20_000);
    return times(chance, plan, 4, () => ({ quietly: chance.chance(0.5), restartMs: restartMs() }));
  },
  happen(stage, { quietly, restartMs }, strike) {
    const leader = leaderOf(stage);
    if (leader === undefined) return;
    strike(leader.host.name, { quietly });
    crashAndRestart(stage, leader, quietly, restartMs);
  },
});

export const joinAndLeave = fault<{ host: string; nth: number; ends: "crash" | "power" | "stop"; againMs: number }>({
  name: "join and leave",
  summary: "a host joins and leaves again within one round",
  draw(chance, plan) {
    const againMs = lengths(chance, 10, 10_000);
    return times(chance, plan, 3, () => {
      const ends = chance.pick(["crash", "power", "stop"] as const);
      return { host: chance.pick(hostNames(plan)), nth: 1 + chance.below(6), ends, againMs: againMs() };
    });
  },
  happen(stage, { host, nth, ends, againMs }, strike) {
    const player = stage.player(host);
    stage.crash(player);
    stage.start(player);
    const joining = player.host.process;
    const isReport = (event: TrapEvent): boolean =>
      event.kind === "sent" && event.process === joining && (event.message as VirtualControlMessage).about === "host";
    atMoment(stage, nth, isReport, () => {
      strike(host, { nth, ends });
      if (ends === "stop") stage.later(0, () => stopAndRestart(stage, player, againMs));
      else crashAndRestart(stage, player, ends === "power", againMs);
    });
  },
});

export const lostGoodbye = fault<{ host: string; downMs: number }>({
  name: "lost goodbye",
  summary: "a host stops in an orderly way, and its goodbye is lost",
  draw(chance, plan) {
    const downMs = lengths(chance, 1, 20_000);
    return times(chance, plan, 3, () => ({ host: chance.pick(hostNames(plan)), downMs: downMs() }));
  },
  happen(stage, { host, downMs, at }, strike) {
    const player = stage.player(host);
    const { process } = player.host;
    if (process === undefined || !isWorking(player)) return;
    const { lookouts } = between(stage.world);
    const chance = stage.chance.child(`lost goodbye ${at}`);
    const look: Parameters<typeof lookouts.add>[0] = (from, message) => {
      const sent = message as VirtualControlMessage;
      if (from.station !== process || sent.about !== "host" || sent.message.kind !== "goodbye") return;
      strike(host);
      forget(stage.world, from, chance);
    };
    lookouts.add(look);
    stage.undoAfter(60_000, () => lookouts.delete(look));
    stopAndRestart(stage, player, downMs);
  },
});

export const herd = fault<{ spreadMs: number }>({
  name: "herd",
  summary: "dozens of hosts join at once",
  draw(chance, plan) {
    if (hostNames(plan).length === plan.hosts.length) return [];
    const spreadMs = Math.floor(chance.exponential(500));
    return [{ spreadMs, at: Math.floor(chance.between(0.2, 0.7) * plan.chaosMs) }];
  },
  happen(stage, { spreadMs }, strike) {
    const waiting = stage.players.filter(({ planned }) => planned.startsAt >= stage.plan.chaosMs);
    strike("", { hosts: waiting.length, spreadMs });
    for (const player of waiting) stage.later(stage.chance.number() * spreadMs, () => stage.start(player));
  },
});
