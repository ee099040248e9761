// Checks that at most one of several concurrent holders of an actor can commit: epochs never decrease, one
// epoch belongs to one process, and every commit builds on the previous one.
import type { CheckerKind } from "../checker.ts";

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
        const who = `${key.type}/${key.id}`;
        const expected = before === undefined ? 0 : before.version + 1;
        if (version !== expected) report(`${who} was committed on version ${version} when ${expected} was the last`);
        if (before === undefined) return;
        if (epoch < before.epoch) report(`${who} was committed in epoch ${epoch} after epoch ${before.epoch}`);
        if (epoch === before.epoch && number !== before.process) {
          report(`${who} was committed in epoch ${epoch} by processes ${before.process} and ${number}`);
        }
      },
    };
  },
};
