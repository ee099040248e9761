// Checks that turns of one activation run one after another; hooks are turns as well. Code of an activation
// that was cut off may run to its end, but no turn begins there any more.
import type { Life, Turn } from "../../observer.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOf } from "../looks.ts";

export const turnExclusion: CheckerKind = {
  name: "turn exclusion",
  rule: "a turn begins only while no other turn of the same activation runs, and not after the activation has ended",
  make(_stage, report) {
    const running = new Map<number, Turn>();
    /** The newest activation by process and actor. */
    const newest = new Map<string, number>();
    const ended = new Set<number>();
    const placeOf = ({ process, namespace, type, id }: Life): string => `${process.number}/${namespace}/${type}/${id}`;
    const free = (life: Life, what: string): void => {
      const turn = running.get(life.number);
      if (turn !== undefined) report(`${labelOf(life)} ${what} while ${turn.op} runs`);
      if (ended.has(life.number)) report(`${labelOf(life)} ${what} after its end`);
      if ((newest.get(placeOf(life)) ?? 0) > life.number) report(`${labelOf(life)} ${what} after its next life began`);
    };
    return {
      activated(life) {
        free(life, "wakes up");
        newest.set(placeOf(life), life.number);
      },
      deactivated(life) {
        free(life, "leaves");
        ended.add(life.number);
      },
      turnBegan(turn) {
        free(turn.life, `begins ${turn.op}`);
        running.set(turn.life.number, turn);
      },
      turnEnded(turn) {
        if (running.get(turn.life.number) === turn) running.delete(turn.life.number);
      },
    };
  },
};
