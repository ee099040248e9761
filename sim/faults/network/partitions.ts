// Partitions: lines are cut without a notification, and each side detects it by silence, if at all. The
// database stays reachable.
import type { Prng } from "../../../src/kernel/prng.ts";
import type { Plan } from "../../plan.ts";
import type { Stage } from "../../stage.ts";
import { type Fault, fault, hostNames, lengths, some, times } from "../fault.ts";
import { allWays, bothWays, changeLines, type Way } from "./lines.ts";
import { leaderOf } from "./players.ts";

interface Cut {
  readonly ways: readonly Way[];
  readonly ms: number;
}

/** A partition whose lines are known beforehand. */
function partition(name: string, summary: string, ways: (chance: Prng, names: string[], plan: Plan) => Way[]): Fault {
  return fault<Cut>({
    name,
    summary,
    draw(chance, plan) {
      const ms = lengths(chance, 100, 40_000);
      return times(chance, plan, 3, () => ({ ways: ways(chance, hostNames(plan), plan), ms: ms() }));
    },
    happen(stage, { ways, ms }, strike) {
      if (ways.length === 0) return;
      strike("", { ways: ways.map((way) => way.join("→")).join(" "), ms });
      changeLines(stage, ways, ms, { isOpen: false });
    },
  });
}

const withAll = (one: string, others: readonly string[]): Way[] =>
  others.filter((other) => other !== one).flatMap((other) => bothWays(one, other));

export const isolated = partition(
  "isolated",
  "one host is cut off from all others, in both directions",
  (chance, names) => withAll(chance.pick(names), names),
);

export const halves = partition("halves", "two groups of hosts cannot reach each other", (chance, names) => {
  const group = some(chance, names);
  const rest = names.filter((name) => !group.includes(name));
  return group.flatMap((one) => rest.flatMap((other) => bothWays(one, other)));
});

export const scattered = partition(
  "scattered cuts",
  "random pairs of hosts cannot reach each other",
  (chance, names) => {
    const share = chance.number();
    const pairs = allWays(names).filter(([a, b]) => a < b);
    return pairs.filter(() => chance.chance(share)).flatMap(([a, b]) => bothWays(a, b));
  },
);

export const oneWay = partition(
  "one-way cut",
  "messages between two hosts arrive in one direction only",
  (chance, names) => some(chance, allWays(names)).slice(0, 1 + chance.below(3)),
);

export const inboundCut = partition(
  "deaf host",
  "one host receives nothing, and its own messages arrive",
  (chance, names) => {
    const one = chance.pick(names);
    return names.filter((name) => name !== one).map((name): Way => [name, one]);
  },
);

export const swizzle = fault<{ clogs: { readonly host: string; readonly from: number; readonly ms: number }[] }>({
  name: "swizzle",
  summary: "hosts are cut off one after another, and come back in any order",
  draw(chance, plan) {
    const spread = lengths(chance, 50, 10_000);
    return times(chance, plan, 2, () => {
      const [clogMs, holdMs, releaseMs] = [spread(), spread(), spread()];
      const clogs = some(chance, hostNames(plan)).map((host) => {
        const from = Math.floor(chance.between(0, clogMs));
        const until = clogMs + holdMs + Math.floor(chance.between(0, releaseMs));
        return { host, from, ms: until - from };
      });
      return { clogs };
    });
  },
  happen(stage, { clogs }, strike) {
    strike("", { hosts: clogs.map(({ host }) => host).join() });
    const names = stage.players.map(({ planned }) => planned.name);
    for (const { host, from, ms } of clogs) {
      stage.later(from, () => changeLines(stage, withAll(host, names), ms, { isOpen: false }));
    }
  },
});

/** A cut around the leader of that moment. */
function aroundLeader(
  name: string,
  summary: string,
  ways: (leader: string, host: string, names: string[]) => Way[],
): Fault {
  return fault<{ host: string; ms: number }>({
    name,
    summary,
    draw(chance, plan) {
      const ms = lengths(chance, 100, 40_000);
      return times(chance, plan, 3, () => ({ host: chance.pick(hostNames(plan)), ms: ms() }));
    },
    happen(stage: Stage, { host, ms }, strike) {
      const leader = leaderOf(stage)?.planned.name;
      if (leader === undefined) return;
      const names = stage.players.map(({ planned }) => planned.name);
      const other = host === leader ? names.find((one) => one !== leader) : host;
      if (other === undefined) return;
      strike(leader, { host: other, ms });
      changeLines(stage, ways(leader, other, names), ms, { isOpen: false });
    },
  });
}

export const cutFromLeader = aroundLeader(
  "cut off from the leader",
  "a host reaches all hosts but the leader",
  (leader, host) => bothWays(leader, host),
);

export const leaderMessagesLost = aroundLeader(
  "leader unheard",
  "messages of a host reach the leader, and messages of the leader do not reach the host",
  (leader, host) => [[leader, host]],
);

export const lonelyLeader = aroundLeader(
  "lonely leader",
  "the leader reaches the database and no host",
  (leader, _host, names) => withAll(leader, names),
);
