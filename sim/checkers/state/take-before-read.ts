// Checks that an activation with state takes its actor first, and begins with the state of that take. A shard
// that moves here may take actors before their activation, as long as no other process took them since and no
// other activation used that take.

import type { StoredState } from "../../../src/ports/store/store.ts";
import type { Life } from "../../observer.ts";
import type { CheckerKind } from "../checker.ts";
import { isSharded, isStateful, labelOf, nameOf } from "../looks.ts";
import { entriesOf } from "./stored-entries.ts";

interface Take {
  readonly at: number;
  readonly state: StoredState | undefined;
  readonly process: number;
  isUsed: boolean;
}

export const takeBeforeRead: CheckerKind = {
  name: "take before read",
  rule: "an activation begins with the state that it took from the store itself after its creation, or that its shard prefetched last",
  make(stage, report) {
    /**
     * By actor and process. A take without a response is repeated: each take since the creation of the
     * activation may be the one.
     */
    const takes = new Map<string, Map<number, Take[]>>();
    const takesOf = (life: Life): Take[] => takes.get(nameOf(life))?.get(life.process.number) ?? [];
    const last = new Map<string, Take>();
    const ahead = new WeakSet<Life>();
    const takenAhead = (life: Life): Take[] => {
      const take = last.get(nameOf(life));
      const isOurs = take?.process === life.process.number && !take.isUsed && isSharded(stage.plan, life.type);
      if (isOurs) ahead.add(life);
      return isOurs ? [take] : [];
    };
    return {
      taken({ number }, request, { state }) {
        const name = nameOf(request);
        const ofActor = takes.get(name) ?? new Map<number, Take[]>();
        takes.set(name, ofActor);
        const own = ofActor.get(number) ?? [];
        ofActor.set(number, own);
        const take = { at: stage.now, state, process: number, isUsed: false };
        last.set(name, take);
        own.push(take);
        if (own.length > 8) own.shift();
      },
      activated(life, entries) {
        if (!isStateful(life.type)) return;
        const since = takesOf(life).filter(({ at }) => at >= life.bornAt);
        const own = since.length > 0 ? since : takenAhead(life);
        for (const take of own) take.isUsed = true;
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
        if (!isStateful(life.type) || ahead.has(life) || takesOf(life).some(({ at }) => at >= life.bornAt)) return;
        report(`${labelOf(life)} runs ${op} at process ${life.process.number} without a take`);
      },
    };
  },
};
