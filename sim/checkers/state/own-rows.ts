// Checks that a row holds the state of its own actor and of no other, also after the store was restored from
// an earlier point and has assigned the same rows again. An epoch of a row is assigned once.
import type { ActorKey } from "../../../src/kernel/names.ts";
import type { StoredState } from "../../../src/ports/store/store.ts";
import { isScriptWord } from "../../scripts.ts";
import { isOnTheWay, operationOf } from "../calls/tokens.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOf } from "../looks.ts";
import { entriesOf } from "./stored-entries.ts";

const PAGE = 100_000;

export const ownRows: CheckerKind = {
  name: "own rows",
  rule: "no actor's state is in another actor's row, and no epoch of a row is assigned twice, also after a restore",
  make(stage, report) {
    const epochs = new Map<number, Set<number>>();
    const isOwn = (word: string, { namespace, type, id }: ActorKey): boolean => {
      const operation = isScriptWord(word) ? undefined : operationOf(stage, word);
      if (operation === undefined) return true;
      const { call } = operation;
      const called = isOnTheWay(word) ? (call.how.via ?? []) : [call];
      return operation.namespace === namespace && called.some((one) => one.type === type && one.id === id);
    };
    const check = (key: ActorKey, state: StoredState | undefined): void => {
      const foreign = entriesOf(state).find((word) => !isOwn(word, key));
      if (foreign !== undefined) report(`${foreign} is in the row of ${labelOf(key)} of ${key.namespace}`);
    };
    return {
      taken(_process, request, { ref, epoch, state }) {
        const known = epochs.get(ref) ?? new Set();
        epochs.set(ref, known);
        if (known.has(epoch)) report(`epoch ${epoch} of row ${ref} was assigned twice, at last to ${labelOf(request)}`);
        known.add(epoch);
        if (stage.restoredAt !== undefined) check(request, state);
      },
      committed(_process, { write }, key, outcome) {
        if (outcome === "committed" && write.kind === "whole") check(key, { whole: write.data, changes: [] });
      },
      over() {
        const { truth } = stage.world.database;
        for (const namespace of new Set(stage.plan.hosts.map((host) => host.namespace))) {
          void truth.list({ namespace, limit: PAGE }).then(async (rows) => {
            const keys = rows.map(({ type, id }) => ({ namespace, type, id, owner: "checker" }));
            for (const [i, taken] of (await truth.take(keys)).entries()) check(keys[i]!, taken.state);
          });
        }
      },
    };
  },
};
