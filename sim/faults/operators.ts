// Actions of operators: stop and start, upgrade, drain, and change the types of a host.
import type { LimpetSettings } from "../../src/config/settings.ts";
import { parseDuration } from "../../src/kernel/durations.ts";
import type { Prng } from "../../src/kernel/prng.ts";
import type { Plan } from "../plan.ts";
import type { Stage } from "../stage.ts";
import { fault, hostNames, lengths, some, times } from "./fault.ts";
import { isWorking, leaderOf, stopAndRestart, stopAndThen } from "./network/players.ts";

export const gracefulRestart = fault<{ host: string; downMs: number }>({
  name: "graceful restart",
  summary: "a host is stopped in an orderly way, and started again after a while",
  draw(chance, plan) {
    const downMs = lengths(chance, 1, 20_000);
    return times(chance, plan, 3, () => ({ host: chance.pick(hostNames(plan)), downMs: downMs() }));
  },
  happen(stage, { host, downMs }, strike) {
    const player = stage.player(host);
    if (!isWorking(player)) return;
    strike(host, { downMs });
    stopAndRestart(stage, player, downMs);
  },
});

export const stopTogether = fault<{ hosts: string[]; apartMs: number; downMs: number }>({
  name: "stopped together",
  summary: "several hosts, or all, are stopped at once in an orderly way",
  draw(chance, plan) {
    const [downMs, apartMs] = [lengths(chance, 1, 20_000), lengths(chance, 1, 1_000)];
    return times(chance, plan, 2, () => {
      const hosts = chance.chance(0.3) ? hostNames(plan) : some(chance, hostNames(plan));
      return { hosts, apartMs: chance.chance(0.5) ? 0 : apartMs(), downMs: downMs() };
    });
  },
  happen(stage, { hosts, apartMs, downMs }, strike) {
    strike("", { hosts: hosts.join(), apartMs });
    for (const [i, host] of hosts.entries()) {
      stage.later(i * apartMs, () => stopAndRestart(stage, stage.player(host), downMs));
    }
  },
});

export const leaderResigns = fault<{ downMs: number }>({
  name: "leader resigns",
  summary: "the leader is stopped in an orderly way",
  draw(chance, plan) {
    const downMs = lengths(chance, 1, 20_000);
    return times(chance, plan, 4, () => ({ downMs: downMs() }));
  },
  happen(stage, { downMs }, strike) {
    const leader = leaderOf(stage);
    if (leader === undefined || !isWorking(leader)) return;
    strike(leader.host.name, { downMs });
    stopAndRestart(stage, leader, downMs);
  },
});

/**
 * Settings of the next version. None takes longer than in the plan: the bounds of healing follow the plan.
 */
function drawUpgrade(chance: Prng, { settings }: Plan): LimpetSettings {
  const {
    lease = "10s",
    leaderLease = "3s",
    roundTimeout = "8s",
  } = typeof settings.cluster === "object" ? settings.cluster : {};
  const leaseMs = Math.floor(parseDuration(lease, "lease") * chance.between(0.6, 1));
  const leaderMs = Math.min(parseDuration(leaderLease, "leaderLease"), leaseMs * chance.between(0.2, 0.5));
  const roundMs = Math.min(parseDuration(roundTimeout, "roundTimeout"), leaseMs * chance.between(0.4, 0.95));
  return {
    idleTimeout: Math.floor(chance.between(1_000, 60_000)),
    cluster: {
      lease: leaseMs,
      leaderLease: Math.floor(leaderMs),
      roundTimeout: Math.floor(roundMs),
      moveTimeout: Math.floor(roundMs * chance.between(0.05, 0.9)),
      coalesce: chance.pick([0, 0, 50, 500, 2_000]),
      failover: chance.pick(["auto", "lease"] as const),
    },
  };
}

export const rollingUpgrade = fault<{ hosts: string[]; settings: LimpetSettings; downMs: number; nextMs: number }>({
  name: "rolling upgrade",
  summary: "hosts are stopped one after another, and started again with other settings",
  draw(chance, plan) {
    const [downMs, nextMs] = [lengths(chance, 1, 5_000), lengths(chance, 1, 5_000)];
    return times(chance, plan, 1, () => {
      const hosts = chance.chance(0.7) ? chance.shuffle(hostNames(plan)) : some(chance, hostNames(plan));
      return { hosts, settings: drawUpgrade(chance, plan), downMs: downMs(), nextMs: nextMs() };
    });
  },
  happen(stage, { hosts, settings, downMs, nextMs }, strike) {
    const upgrade = ([host, ...more]: readonly string[]): void => {
      if (host === undefined) return;
      const player = stage.player(host);
      if (!isWorking(player)) {
        stage.later(nextMs, () => upgrade(more));
        return;
      }
      strike(host, { settings: JSON.stringify(settings) });
      stopAndThen(stage, player, () => {
        stage.later(downMs, () => stage.start(player, settings));
        stage.later(downMs + nextMs, () => upgrade(more));
      });
    };
    upgrade(hosts);
  },
});

export const memoryPressure = fault<{ host: string; maxResident: number }>({
  name: "memory pressure",
  summary: "a host is started again with room for very few actors, so that they leave memory all the time",
  draw(chance, plan) {
    return times(chance, plan, 3, () => ({ host: chance.pick(hostNames(plan)), maxResident: 1 + chance.below(4) }));
  },
  happen(stage, { host, maxResident }, strike) {
    const player = stage.player(host);
    if (!isWorking(player)) return;
    strike(host, { maxResident });
    stopAndRestart(stage, player, 100, { maxResident });
  },
});

export const drained = fault<{ host: string; from: string; ms: number }>({
  name: "drained",
  summary: "an operator drains a host, and starts it again when it is empty",
  draw(chance, plan) {
    const ms = lengths(chance, 100, 30_000);
    return times(chance, plan, 2, () => {
      return { host: chance.pick(hostNames(plan)), from: chance.pick(hostNames(plan)), ms: ms() };
    });
  },
  happen(stage, { host, from, ms }, strike) {
    const [player, asked] = [stage.player(host), stage.player(from)];
    if (!isWorking(asked) || player.planned.dedicated) return;
    const { process } = player.host;
    strike(host, { from, ms });
    const asking = asked.host.app.host.drain(host);
    asking.then(
      () => restartDrained(stage, host, process),
      () => {},
    );
    stage.undoAfter(ms, () => restartDrained(stage, host, process, true));
  },
});

/** The process stays drained until it ends. A drain just before healing may complete afterwards. */
function restartDrained(stage: Stage, host: string, process: unknown, isDue = false): void {
  const player = stage.player(host);
  if (player.host.process === undefined || player.host.process !== process) return;
  if (stage.isChaos && isDue) stopAndRestart(stage, player, 100);
  if (stage.isChaos) return;
  stage.crash(player);
  stage.start(player);
}
