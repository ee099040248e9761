// Faults of clocks: set to another time, too fast or too slow, stopped, coarse, or early.

import type { Prng } from "../../src/kernel/prng.ts";
import type { ClockTroubles } from "../../src/world/local-clock.ts";
import { type Fault, fault, hostNames, lengths, severity, times } from "./fault.ts";
import { crashAndRestart, isWorking, stopAndRestart } from "./network/players.ts";

const TEN_YEARS_MS = 10 * 365 * 86_400_000;

export const wallJump = fault<{ host: string; byMs: number; backMs: number | null }>({
  name: "wall clock jump",
  summary: "the wall clock of a process is set, and sometimes set back later",
  draw(chance, plan) {
    const size = lengths(chance, 1_000, TEN_YEARS_MS);
    return times(chance, plan, 4, () => {
      const backMs = chance.chance(0.5) ? Math.floor(chance.exponential(5_000)) : null;
      return { host: chance.pick(hostNames(plan)), byMs: size() * (chance.chance(0.5) ? 1 : -1), backMs };
    });
  },
  happen(stage, { host, byMs, backMs }, strike) {
    const clock = stage.player(host).host.process?.clock;
    if (clock === undefined) return;
    strike(host, { byMs, backMs });
    clock.jump(byMs);
    if (backMs !== null) stage.later(backMs, () => clock.jump(-byMs));
  },
});

export const drift = fault<{ host: string; rate: number; ms: number }>({
  name: "clock drift",
  summary: "the clocks of a process are too fast or too slow for a while",
  draw(chance, plan) {
    const [off, ms] = [severity(chance, 0.001, 0.05), lengths(chance, 2_000, 60_000)];
    return times(chance, plan, 3, () => {
      return { host: chance.pick(hostNames(plan)), rate: 1 + off() * (chance.chance(0.5) ? 1 : -1), ms: ms() };
    });
  },
  happen(stage, { host, rate, ms }, strike) {
    const player = stage.player(host);
    const clock = player.host.process?.clock;
    if (clock === undefined) return;
    strike(host, { rate, ms });
    clock.drift(rate);
    stage.undoAfter(ms, () => clock.drift(player.planned.clock.rate ?? 1));
  },
});

export const suspend = fault<{ host: string; ms: number }>({
  name: "suspend",
  summary: "a machine sleeps: its monotonic clock stands still, its wall clock goes on",
  draw(chance, plan) {
    const ms = lengths(chance, 50, 60_000);
    return times(chance, plan, 3, () => ({ host: chance.pick(hostNames(plan)), ms: ms() }));
  },
  happen(stage, { host, ms }, strike) {
    const player = stage.player(host);
    if (player.host.process?.isAwake !== true) return;
    strike(host, { ms });
    stage.sleep(player, ms, "suspend");
  },
});

/** Restarts a process on a machine with other timers. */
function timers(name: string, summary: string, troubles: (chance: Prng) => ClockTroubles): Fault {
  return fault<{ host: string; clock: ClockTroubles; crashes: boolean }>({
    name,
    summary,
    draw(chance, plan) {
      const clock = troubles(chance);
      return times(chance, plan, 3, () => ({ host: chance.pick(hostNames(plan)), clock, crashes: chance.chance(0.5) }));
    },
    happen(stage, { host, clock, crashes }, strike) {
      const player = stage.player(host);
      if (!isWorking(player)) return;
      strike(host, { ...clock });
      const all = { ...player.planned.clock, ...clock };
      if (crashes) crashAndRestart(stage, player, false, 100, undefined, all);
      else stopAndRestart(stage, player, 100, undefined, all);
    },
  });
}

export const coarseTimers = timers("coarse timers", "timers of a host ring late, all at once", (chance) => ({
  grainMs: Math.floor(severity(chance, 2, 250)()),
}));

export const earlyTimers = timers("early timers", "timers of a host ring a moment too early", (chance) => ({
  earlyMs: 1 + chance.below(3),
}));

export const databaseClock = fault<{ stepMs: number; everyMs: number; count: number }>({
  name: "database clock",
  summary: "the clock of the database is too fast or too slow for a while",
  draw(chance, plan) {
    const [off, everyMs] = [severity(chance, 0.001, 0.05), Math.floor(chance.between(100, 2_000))];
    return times(chance, plan, 2, () => {
      const stepMs = everyMs * off() * (chance.chance(0.5) ? 1 : -1);
      return { stepMs, everyMs, count: 1 + chance.below(40) };
    });
  },
  happen(stage, { stepMs, everyMs, count }, strike) {
    strike("", { stepMs, everyMs, count });
    for (let i = 0; i < count; i++) {
      stage.later(i * everyMs, () => {
        stage.world.database.offsetMs += stepMs;
      });
    }
  },
});
