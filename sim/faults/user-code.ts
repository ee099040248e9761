// Actors whose methods are slow, hang, or throw after they have changed their state.
import { makeCall } from "../callers.ts";
import type { CallHow, PlannedCall } from "../plan.ts";
import { fault, lengths, times } from "./fault.ts";

export const oddCalls = fault<{ calls: (PlannedCall & { readonly afterMs: number })[] }>({
  name: "odd calls",
  summary: "a burst of calls to few actors, whose methods are slow, hang, throw late, or are given up by their callers",
  draw(chance, plan) {
    if (plan.calls.length === 0) return [];
    const [slowMs, spreadMs] = [lengths(chance, 5, 12_000), lengths(chance, 1, 3_000)];
    const hows: (() => CallHow)[] = [
      () => ({ slowMs: slowMs() }),
      () => ({ slowMs: slowMs(), throws: "late" }),
      () => ({ throws: "late" }),
      () => ({ hangs: true }),
      () => ({ slowMs: slowMs(), cancelMs: slowMs() }),
      () => ({ slowMs: slowMs(), leaves: true }),
      () => ({}),
    ];
    return times(chance, plan, 2, () => {
      const targets = [chance.pick(plan.calls), chance.pick(plan.calls)];
      const calls = Array.from({ length: 2 + chance.below(18) }, () => {
        const { type, id } = chance.pick(targets);
        const { from } = chance.pick(plan.calls);
        const timeoutMs = chance.pick([300, 3_000, 10_000]);
        const afterMs = Math.floor(chance.between(0, spreadMs()));
        return { at: 0, afterMs, from, type, id, method: "append", how: chance.pick(hows)(), timeoutMs };
      });
      return { calls };
    });
  },
  happen(stage, { calls, at }, strike) {
    strike("", { calls: calls.length });
    for (const [i, { afterMs, ...call }] of calls.entries()) {
      stage.later(afterMs, () => void makeCall(stage, { ...call, at: stage.now }, `odd-${at}-${i}`));
    }
  },
});
