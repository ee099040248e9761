// When nothing has been wrong for a while, a call does not run out of time without having begun, unless its actor was busy: who
// waits for a move or for a life that ends is woken when there is nothing to wait for any more.
import { isLimpetError } from "../../src/kernel/errors.ts";
import type { Turn } from "../observer.ts";
import type { Stage } from "../stage.ts";
import type { CheckerKind } from "./checker.ts";
import { every, labelOf, nameOf, troubleEnds } from "./looks.ts";

const LOOK_MS = 250;
/** Everybody is up and ready for this long: longer than anything that waits goes without looking. */
const WELL_MS = 3_000;
/** Nothing was made to go wrong for this long: a silent connection has been noticed, which takes ten seconds, and a question of the store has ended. */
const CALM_MS = 12_000;

const SLOW_MS = 2;
const PATIENT_MS = 2_000;

export const notInVain: CheckerKind = {
  name: "not in vain",
  rule: "in calm times no call runs out of time before it has begun, unless its actor was busy",
  make(stage, report) {
    let wellSince = 0;
    let faultAt = Number.NEGATIVE_INFINITY;
    const begun = new Set<string>();
    const running = new Map<string, Set<Turn>>();
    const lastBusy = new Map<string, number>();
    const troubled = (): void => {
      wellSince = stage.now;
    };
    return {
      started: troubled,
      gone: troubled,
      slept: troubled,
      told(line) {
        if (line.level === "warn") troubled();
        faultAt = Math.max(faultAt, troubleEnds(line) ?? faultAt);
      },
      stepped: every(stage, LOOK_MS, () => {
        const { isDown, isReadOnly, failsBefore, failsAfter, slow, holds } = stage.world.database.troubles;
        if (isDown || isReadOnly || failsBefore + failsAfter + slow + holds > 0) troubled();
        const isReady = ({ host }: Stage["players"][number]): boolean =>
          host.process?.isAwake === true && host.process.app?.host.status().ready === true;
        if (!stage.players.every(isReady)) troubled();
      }),
      turnBegan(turn) {
        begun.add(turn.op);
        const name = nameOf(turn.life);
        running.set(name, (running.get(name) ?? new Set<Turn>()).add(turn));
      },
      turnEnded(turn) {
        const name = nameOf(turn.life);
        running.get(name)?.delete(turn);
        lastBusy.set(name, stage.now);
      },
      answered({ token, call, namespace, outcome }) {
        if (outcome === undefined || !("error" in outcome) || begun.has(token)) return;
        if (!isLimpetError(outcome.error, "CALL_TIMEOUT") && !isLimpetError(outcome.error, "NOT_READY")) return;
        // To connect takes four messages, and on a slow network all of them may be slow.
        if (stage.plan.latency.moreMs > SLOW_MS && call.timeoutMs < PATIENT_MS) return;
        if (stage.now - wellSince < WELL_MS || stage.now - faultAt < CALM_MS) return;
        const name = nameOf({ namespace, type: call.type, id: call.id });
        if ((running.get(name)?.size ?? 0) > 0 || stage.now - (lastBusy.get(name) ?? 0) < call.timeoutMs / 2) return;
        report(`${token} on ${labelOf(call)} never began, and everything was well: ${outcome.error.message}`);
      },
    };
  },
};
