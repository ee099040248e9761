// Faults between hosts and the database: for one host, while all others reach the database, or for all hosts.
import type { Question } from "../../src/world/database/database.ts";
import type { Station } from "../../src/world/network/network.ts";
import { type Fault, fault, hostNames, lengths, severity, times } from "./fault.ts";
import { between, type DatabaseWay, reopenDatabaseWay } from "./network/between.ts";

function brokenWay(name: string, summary: string, how: DatabaseWay["how"]): Fault {
  return fault<{ host: string; ms: number }>({
    name,
    summary,
    draw(chance, plan) {
      const ms = lengths(chance, 50, 40_000);
      return times(chance, plan, 3, () => ({ host: chance.pick(hostNames(plan)), ms: ms() }));
    },
    happen(stage, { host, ms }, strike) {
      const { place } = stage.player(host).host;
      const { databaseWays } = between(stage.world);
      if (databaseWays.has(place)) return;
      strike(host, { ms });
      databaseWays.set(place, { how, waiting: [] });
      stage.undoAfter(ms, () => reopenDatabaseWay(stage.world, place));
    },
  });
}

export const cutFromDatabase = brokenWay(
  "cut off from the database",
  "requests of one host to the database never arrive",
  "questions",
);

export const unanswered = brokenWay(
  "unanswered by the database",
  "requests of one host take effect, and their responses are lost",
  "answers",
);

export const lateQuestions = brokenWay(
  "late questions",
  "requests of one host to the database are delayed, and take effect long after their timeout",
  "late",
);

export const silentDatabase = fault<{ how: DatabaseWay["how"]; ms: number }>({
  name: "silent database",
  summary: "the database accepts connections and answers no host for a while",
  draw(chance, plan) {
    const ms = lengths(chance, 100, 40_000);
    const hows = ["questions", "answers", "late"] as const;
    return times(chance, plan, 2, () => ({ how: chance.pick(hows), ms: ms() }));
  },
  happen(stage, { how, ms }, strike) {
    const { databaseWays } = between(stage.world);
    const places = stage.players.map(({ host }) => host.place).filter((place) => !databaseWays.has(place));
    strike("", { how, ms });
    for (const place of places) databaseWays.set(place, { how, waiting: [] });
    stage.undoAfter(ms, () => {
      for (const place of places) reopenDatabaseWay(stage.world, place);
    });
  },
});

/** Requests for a lease; the lease runs from the request, however late the answer is. */
const LEASED: ReadonlySet<Question> = new Set<Question>(["campaign", "claim", "renew", "poll", "extend"]);

export const slowAnswers = fault<{ host: string; share: number; lateMs: number; isAll: boolean; ms: number }>({
  name: "slow answers",
  summary: "the database applies the requests of one host in time, but its answers arrive late",
  draw(chance, plan) {
    // No request waits longer than five seconds for an answer.
    const [ms, lateMs, share] = [lengths(chance, 1_000, 40_000), lengths(chance, 100, 4_900), severity(chance, 0.1, 1)];
    return times(chance, plan, 3, () => {
      const host = chance.pick(hostNames(plan));
      return { host, share: share(), lateMs: lateMs(), isAll: chance.chance(0.3), ms: ms() };
    });
  },
  happen(stage, { host, share, lateMs, isAll, ms, at }, strike) {
    const { place } = stage.player(host).host;
    const chance = stage.chance.child(`slow answers ${at}`);
    const { slowAnswers: slowed } = between(stage.world);
    strike(host, { share, lateMs, isAll, ms });
    const slows = (station: Station, question: Question): number | undefined => {
      if (station.place !== place || (!isAll && !LEASED.has(question)) || !chance.chance(share)) return undefined;
      return lateMs;
    };
    slowed.add(slows);
    stage.undoAfter(ms, () => slowed.delete(slows));
  },
});
