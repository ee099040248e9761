// Checks that a call runs at most once in the cluster: a call that may have run is never sent again.
import { isTickWord } from "../../reminding.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOf, nameOf } from "../looks.ts";
import { mostRuns } from "./tokens.ts";

export const atMostOnce: CheckerKind = {
  name: "at most once",
  rule: "no call begins a turn more often than it was made",
  make(stage, report) {
    const runs = new Map<string, number>();
    return {
      turnBegan({ life, op }) {
        const key = `${nameOf(life)} ${op}`;
        const count = (runs.get(key) ?? 0) + 1;
        runs.set(key, count);
        // Ticks of reminders have their own rules.
        if (isTickWord(op)) return;
        const most = mostRuns(stage, op, life);
        if (count > most)
          report(`${op} begins for the ${count}. time on ${labelOf(life)}, and was called ${most} times`);
      },
    };
  },
};
