// An activation of an actor with state takes the actor first, and what it then finds is what that take has read.

import type { StoredState } from "../../src/ports/store.ts";
import type { Life } from "../observer.ts";
import type { CheckerKind } from "./checker.ts";
import { isStateful, labelOf, nameOf } from "./looks.ts";
import { entriesOf } from "./stored-entries.ts";

interface Take {
  readonly at: number;
  readonly state: StoredState | undefined;
}

export const takeBeforeRead: CheckerKind = {
  name: "take before read",
  rule: "an activation begins with the state of a take of its own, made after it was born",
  make(stage, report) {
    /** By actor, then process. A take whose answer was lost is repeated: any of those since its birth may be the one. */
    const takes = new Map<string, Map<number, Take[]>>();
    const takesOf = (life: Life): Take[] => takes.get(nameOf(life))?.get(life.process.number) ?? [];
    return {
      taken({ number }, request, { state }) {
        const name = nameOf(request);
        const ofActor = takes.get(name) ?? new Map<number, Take[]>();
        takes.set(name, ofActor);
        const own = ofActor.get(number) ?? [];
        ofActor.set(number, own);
        own.push({ at: stage.now, state });
        if (own.length > 8) own.shift();
      },
      activated(life, entries) {
        if (!isStateful(life.type)) return;
        const own = takesOf(life).filter(({ at }) => at >= life.bornAt);
        if (own.length === 0) {
          report(`${labelOf(life)} came to life at process ${life.process.number} without a take`);
          return;
        }
        if (entries === undefined) return;
        const found = JSON.stringify(entries);
        if (own.some(({ state }) => JSON.stringify(entriesOf(state)) === found)) return;
        const taken = JSON.stringify(entriesOf(own.at(-1)!.state));
        report(`${labelOf(life)} begins at process ${life.process.number} with ${found}, and what it took is ${taken}`);
      },
      turnBegan({ life, op }) {
        if (!isStateful(life.type) || takesOf(life).some(({ at }) => at >= life.bornAt)) return;
        report(`${labelOf(life)} runs ${op} at process ${life.process.number} without a take`);
      },
    };
  },
};
