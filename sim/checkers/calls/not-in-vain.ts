// Checks that in calm times no call times out before its turn begins, unless its actor was busy. A call that
// waits for a move or for the end of an activation must resume when the wait is over.
import { isLimpetError } from "../../../src/kernel/errors.ts";
import type { ActorKey } from "../../../src/kernel/names.ts";
import type { Turn } from "../../observer.ts";
import type { PlannedCall } from "../../plan.ts";
import { Calm } from "../calm.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOf, nameOf, shardKeyOf } from "../looks.ts";

const SLOW_MS = 2;
const PATIENT_MS = 2_000;
/** A turn of this length delays others. */
const LONG_MS = 250;
/** Longest decision of a custom strategy, and of the fallback after its timeout. */
const STRATEGY_MS = 6_000;
/** Duration of a hand-off, without the wait for its actors. */
const HAND_OFF_MS = 1_500;

export const notInVain: CheckerKind = {
  name: "not in vain",
  rule: "in calm times no call times out before its turn begins, unless its actor was busy",
  make(stage, report) {
    const calm = new Calm(stage);
    const begun = new Set<string>();
    const running = new Map<string, Set<Turn>>();
    const lastBusy = new Map<string, number>();
    /** End of the last long turn, by shard. */
    const lastLong = new Map<string, number>();

    /** The shard may have moved, which takes until the turns of its other actors have ended or timed out. */
    function waitsForNeighbours(key: ActorKey, timeoutMs: number): boolean {
      const shard = shardKeyOf(stage.plan, key);
      const handOffMs = stage.plan.sharded?.[key.type]?.handOff ?? 0;
      if (shard === undefined || timeoutMs > handOffMs + HAND_OFF_MS) return false;
      const isLong = ({ life, beganAt }: Turn): boolean =>
        stage.now - beganAt > LONG_MS && shardKeyOf(stage.plan, life) === shard;
      if (stage.now - (lastLong.get(shard) ?? Number.NEGATIVE_INFINITY) < timeoutMs) return true;
      return [...running.values()].some((turns) => [...turns].some(isLong));
    }

    /** A custom strategy may still be deciding, or may never answer. */
    function waitsForStrategy({ type, timeoutMs }: PlannedCall): boolean {
      const strategy = stage.plan.sharded?.[type]?.strategy;
      if (typeof strategy !== "object") return false;
      // A request that is abandoned may follow another one that took its full time.
      const isSlow = strategy.oddly > 0 && (strategy.odd.includes("late") || strategy.odd.includes("never"));
      return isSlow || timeoutMs < STRATEGY_MS;
    }

    return {
      ...calm.hooks,
      turnBegan(turn) {
        begun.add(turn.op);
        const name = nameOf(turn.life);
        running.set(name, (running.get(name) ?? new Set<Turn>()).add(turn));
      },
      turnEnded(turn) {
        const name = nameOf(turn.life);
        running.get(name)?.delete(turn);
        lastBusy.set(name, stage.now);
        const shard = shardKeyOf(stage.plan, turn.life);
        if (shard !== undefined && stage.now - turn.beganAt > LONG_MS) lastLong.set(shard, stage.now);
      },
      answered({ token, call, namespace, outcome }) {
        if (outcome === undefined || !("error" in outcome) || begun.has(token)) return;
        if (!isLimpetError(outcome.error, "CALL_TIMEOUT") && !isLimpetError(outcome.error, "NOT_READY")) return;
        // A connection takes four messages, and on a slow network all of them may be slow.
        if (stage.plan.latency.moreMs > SLOW_MS && call.timeoutMs < PATIENT_MS) return;
        if (!calm.isCalm()) return;
        const key = { namespace, type: call.type, id: call.id };
        if (waitsForNeighbours(key, call.timeoutMs) || waitsForStrategy(call)) return;
        const name = nameOf(key);
        if ((running.get(name)?.size ?? 0) > 0 || stage.now - (lastBusy.get(name) ?? 0) < call.timeoutMs / 2) return;
        report(`${token} on ${labelOf(call)} never began, and everything was well: ${outcome.error.message}`);
      },
    };
  },
};
