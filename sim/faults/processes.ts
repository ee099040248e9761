// Faults of processes, at any moment.

import type { Player, Stage } from "../stage.ts";
import { type Fault, fault, hostNames, lengths, severity, times } from "./fault.ts";
import { crashAndRestart, isWorking } from "./network/players.ts";

interface End {
  readonly host: string;
  readonly restartMs: number;
}

function ending(name: string, summary: string, quietly: boolean): Fault {
  return fault<End>({
    name,
    summary,
    draw(chance, plan) {
      const restartMs = lengths(chance, 10, 40_000);
      return times(chance, plan, 3, () => ({ host: chance.pick(hostNames(plan)), restartMs: restartMs() }));
    },
    happen(stage, { host, restartMs }, strike) {
      const player = stage.player(host);
      if (player.host.process === undefined) return;
      strike(host, { restartMs });
      crashAndRestart(stage, player, quietly, restartMs);
    },
  });
}

export const crash = ending(
  "crash",
  "a process ends with everything in its memory, and is started again after a while",
  false,
);

export const powerLoss = ending(
  "power loss",
  "a machine loses its power without any notification, and comes back after a while",
  true,
);

export const restartAtOnce = fault<{ host: string; quietly: boolean; restartMs: number }>({
  name: "restart at once",
  summary: "a process ends, and another one is at the same address before the end is detected",
  draw(chance, plan) {
    return times(chance, plan, 4, () => {
      return { host: chance.pick(hostNames(plan)), quietly: chance.chance(0.5), restartMs: chance.below(20) };
    });
  },
  happen(stage, { host, quietly, restartMs }, strike) {
    const player = stage.player(host);
    if (player.host.process === undefined) return;
    strike(host, { quietly, restartMs });
    crashAndRestart(stage, player, quietly, restartMs);
  },
});

export const crashLoop = fault<{ host: string; lives: number[] }>({
  name: "crash loop",
  summary: "a process ends again and again, each time some moments after it was started",
  draw(chance, plan) {
    const life = lengths(chance, 1, 5_000);
    return times(chance, plan, 1, () => {
      return { host: chance.pick(hostNames(plan)), lives: Array.from({ length: 2 + chance.below(6) }, life) };
    });
  },
  happen(stage, { host, lives }, strike) {
    const player = stage.player(host);
    const again = ([ms, ...more]: readonly number[]): void => {
      if (ms === undefined) return;
      strike(host, { more: more.length });
      stage.crash(player);
      stage.start(player);
      stage.later(ms, () => again(more));
    };
    again(lives);
  },
});

export const blackout = fault<{ quietly: boolean; restartMs: number[] }>({
  name: "blackout",
  summary: "all processes end at once, and come back one after another",
  draw(chance, plan) {
    const restartMs = lengths(chance, 10, 20_000);
    return times(chance, plan, 1, () => ({ quietly: chance.chance(0.5), restartMs: plan.hosts.map(restartMs) }));
  },
  happen(stage, { quietly, restartMs }, strike) {
    const there = stage.players.filter(({ host }) => host.process !== undefined);
    if (there.length === 0) return;
    strike("", { quietly, hosts: there.length });
    for (const player of there) {
      crashAndRestart(stage, player, quietly, restartMs[stage.players.indexOf(player)] ?? 0);
    }
  },
});

export const pause = fault<{ host: string; ms: number }>({
  name: "pause",
  summary: "a process hangs and continues later with its old state",
  draw(chance, plan) {
    const ms = lengths(chance, 10, 60_000);
    return times(chance, plan, 4, () => ({ host: chance.pick(hostNames(plan)), ms: ms() }));
  },
  happen(stage, { host, ms }, strike) {
    const player = stage.player(host);
    if (player.host.process === undefined) return;
    strike(host, { ms });
    stage.sleep(player, ms, "pause");
  },
});

export const pausedTogether = fault<{ ms: number[] }>({
  name: "paused together",
  summary: "all processes hang at the same moment, as when their machine is moved, and go on one after another",
  draw(chance, plan) {
    const ms = lengths(chance, 50, 20_000);
    return times(chance, plan, 2, () => ({ ms: plan.hosts.map(ms) }));
  },
  happen(stage, { ms }, strike) {
    const there = stage.players.filter(({ host }) => host.process !== undefined);
    if (there.length === 0) return;
    strike("", { hosts: there.length });
    for (const player of there) stage.sleep(player, ms[stage.players.indexOf(player)] ?? 0, "pause");
  },
});

export const lag = fault<{ host: string; ms: number; shortMs: number; everyMs: number }>({
  name: "lag",
  summary: "the event loop of a process lags: it is late for everything, for a while",
  draw(chance, plan) {
    const [ms, shortMs, everyMs] = [lengths(chance, 500, 20_000), severity(chance, 2, 800), severity(chance, 20, 500)];
    return times(chance, plan, 2, () => {
      return { host: chance.pick(hostNames(plan)), ms: ms(), shortMs: shortMs(), everyMs: everyMs() };
    });
  },
  happen(stage, { host, ms, shortMs, everyMs, at }, strike) {
    const player = stage.player(host);
    if (!isWorking(player)) return;
    strike(host, { ms, shortMs, everyMs });
    const chance = stage.chance.child(`lag ${at}`);
    lagOn(stage, player, at + ms, () => [chance.exponential(shortMs), chance.exponential(everyMs)]);
  },
});

function lagOn(stage: Stage, player: Player, until: number, draw: () => [short: number, next: number]): void {
  const { process } = player.host;
  const again = (): void => {
    if (player.host.process !== process || stage.now >= until) return;
    const [short, next] = draw();
    stage.sleep(player, short, "pause");
    stage.later(short + next, again);
  };
  stage.later(0, again);
}
