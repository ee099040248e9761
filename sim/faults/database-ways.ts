// What happens on the way between one host and the database, while everybody else reaches it.
import { between, type DatabaseWay, reopenDatabaseWay } from "./between.ts";
import { type Fault, fault, hostNames, lengths, times } from "./fault.ts";

function brokenWay(name: string, says: string, how: DatabaseWay["how"]): Fault {
  return fault<{ host: string; ms: number }>({
    name,
    says,
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
  "what one host asks of the database never arrives",
  "questions",
);

export const unanswered = brokenWay(
  "unanswered by the database",
  "the database does what one host asks, and the host never hears of it",
  "answers",
);

export const lateQuestions = brokenWay(
  "late questions",
  "what one host asks of the database is held up, and done long after it was given up",
  "late",
);
