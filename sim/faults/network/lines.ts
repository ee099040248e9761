// Faults of lines between places that are not cut: they lose packets, are slow, or come and go.
import type { Prng } from "../../../src/kernel/prng.ts";
import type { Line } from "../../../src/world/network/network.ts";
import type { Plan } from "../../plan.ts";
import type { Stage } from "../../stage.ts";
import { fault, hostNames, lengths, severity, some, times } from "../fault.ts";

/** From one host to another. */
export type Way = readonly [from: string, to: string];

const USUAL: Line = { isOpen: true, delayMs: 0, loss: 0 };

/** Changes these directions for a while. */
export function changeLines(stage: Stage, ways: readonly Way[], ms: number, change: Partial<Line>): void {
  const places = ways.map(([from, to]) => [stage.player(from).host.place, stage.player(to).host.place] as const);
  const { network } = stage.world;
  for (const [from, to] of places) network.change(from, to, change);
  const usual = Object.fromEntries(Object.keys(change).map((key) => [key, USUAL[key as keyof Line]]));
  stage.undoAfter(ms, () => {
    for (const [from, to] of places) network.change(from, to, usual);
  });
}

export const bothWays = (a: string, b: string): Way[] => [
  [a, b],
  [b, a],
];

export const allWays = (names: readonly string[]): Way[] =>
  names.flatMap((from) => names.filter((to) => to !== from).map((to): Way => [from, to]));

/** A pair, one host with all others, all hosts, or any directions. */
function drawWays(chance: Prng, plan: Plan): Way[] {
  const names = hostNames(plan);
  const [one, other] = chance.shuffle(names);
  if (one === undefined || other === undefined) return [];
  const kinds: (() => Way[])[] = [
    () => bothWays(one, other),
    () => names.filter((name) => name !== one).flatMap((name) => bothWays(one, name)),
    () => allWays(names),
    () => some(chance, allWays(names)),
  ];
  return chance.pick(kinds)();
}

export const loss = fault<{ ways: Way[]; loss: number; ms: number }>({
  name: "loss",
  summary: "lines lose packets, which are sent again later",
  draw(chance, plan) {
    const [share, ms] = [severity(chance, 0.01, 0.3), lengths(chance, 500, 30_000)];
    return times(chance, plan, 3, () => ({ ways: drawWays(chance, plan), loss: share(), ms: ms() }));
  },
  happen(stage, { ways, loss, ms }, strike) {
    if (ways.length === 0) return;
    strike("", { loss, lines: ways.length, ms });
    changeLines(stage, ways, ms, { loss });
  },
});

export const delay = fault<{ ways: Way[]; delays: number[]; everyMs: number }>({
  name: "delay",
  summary: "lines are late: a little all the time, and a lot now and then",
  draw(chance, plan) {
    const [mean, every, count] = [severity(chance, 1, 300), lengths(chance, 100, 5_000), 1 + chance.below(10)];
    return times(chance, plan, 3, () => {
      // One value in a hundred is a hundred times as large as the usual one.
      const heavy = (): number => Math.min(5_000, mean() / (1 - chance.number()));
      return { ways: drawWays(chance, plan), delays: Array.from({ length: count }, heavy), everyMs: every() };
    });
  },
  happen(stage, { ways, delays, everyMs }, strike) {
    if (ways.length === 0) return;
    strike("", { lines: ways.length, delays: delays.map(Math.round).join(), everyMs });
    for (const [i, delayMs] of delays.entries()) {
      stage.later(i * everyMs, () => changeLines(stage, ways, everyMs, { delayMs }));
    }
  },
});

export const slowReceiver = fault<{ host: string; delayMs: number; ms: number }>({
  name: "slow receiver",
  summary: "messages to one host pile up, because it reads very slowly",
  draw(chance, plan) {
    const [delayMs, ms] = [lengths(chance, 500, 10_000), lengths(chance, 1_000, 20_000)];
    return times(chance, plan, 2, () => ({ host: chance.pick(hostNames(plan)), delayMs: delayMs(), ms: ms() }));
  },
  happen(stage, { host, delayMs, ms }, strike) {
    const others = stage.players.map(({ planned }) => planned.name).filter((name) => name !== host);
    strike(host, { delayMs, ms });
    changeLines(
      stage,
      others.map((name): Way => [name, host]),
      ms,
      { delayMs },
    );
  },
});

export const flapping = fault<{ ways: Way[]; count: number; periodMs: number; share: number }>({
  name: "flapping line",
  summary: "a line is cut and mended many times in a row",
  draw(chance, plan) {
    const periodMs = lengths(chance, 20, 4_000);
    return times(chance, plan, 2, () => {
      return {
        ways: drawWays(chance, plan),
        count: 2 + chance.below(20),
        periodMs: periodMs(),
        share: chance.number(),
      };
    });
  },
  happen(stage, { ways, count, periodMs, share }, strike) {
    if (ways.length === 0) return;
    strike("", { lines: ways.length, count, periodMs });
    for (let i = 0; i < count; i++) {
      stage.later(i * periodMs, () => changeLines(stage, ways, periodMs * share, { isOpen: false }));
    }
  },
});
