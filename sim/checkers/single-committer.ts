// Of all who hold an actor at once, at most one can commit: epochs never go back, and one epoch belongs to one process.
import type { CheckerKind } from "./checker.ts";

export const singleCommitter: CheckerKind = {
  name: "single committer",
  rule: "commits of an actor have epochs that never decrease, and every epoch has one committer",
  make(_stage, report) {
    const last = new Map<number, { readonly epoch: number; readonly process: number; readonly version: number }>();
    const seen = new Set<string>();
    return {
      committed({ number }, { ref, epoch, version, id }, key, outcome) {
        if (outcome !== "committed" || seen.has(id)) return;
        seen.add(id);
        const before = last.get(ref);
        last.set(ref, { epoch, process: number, version });
        if (before === undefined) return;
        const who = `${key.type}/${key.id}`;
        if (epoch < before.epoch) report(`${who} was committed in epoch ${epoch} after epoch ${before.epoch}`);
        if (epoch === before.epoch && number !== before.process) {
          report(`${who} was committed in epoch ${epoch} by processes ${before.process} and ${number}`);
        }
        if (version !== before.version + 1) {
          report(`${who} was committed on version ${version} when ${before.version + 1} was the last`);
        }
      },
    };
  },
};
