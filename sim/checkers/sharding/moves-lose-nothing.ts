// Checks that the move of a shard costs its callers only time. In calm times, an actor answers each call, or
// the call reaches its own timeout. Errors about hosts, leases and connections need a fault as their cause.
import { type ErrorCode, LimpetError } from "../../../src/kernel/errors.ts";
import type { Turn } from "../../observer.ts";
import type { Player } from "../../stage.ts";
import { Calm } from "../calm.ts";
import type { CheckerKind } from "../checker.ts";
import { isHostOf, isSharded, labelOf } from "../looks.ts";

/** Errors that a call may get in calm times. */
const USUAL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...(["CALL_TIMEOUT", "MAILBOX_FULL", "HOST_FULL", "CALL_CYCLE", "NOT_READY"] as const),
  // Application code has failed; see honest-errors.ts.
  ...(["SHARD_INVALID", "ARGUMENT_INVALID"] as const),
]);

export const movesLoseNothing: CheckerKind = {
  name: "moves lose nothing",
  rule: "in calm times a call to a sharded actor fails only by its own error or by timeout, and is cut off only if its turn takes too long",
  make(stage, report) {
    if (stage.plan.sharded === undefined) return {};
    const calm = new Calm(stage);
    const begun = new Map<string, Turn>();
    return {
      ...calm.hooks,
      turnBegan(turn) {
        begun.set(turn.op, turn);
      },
      answered({ token, call, namespace, outcome, beganAt }) {
        if (!isSharded(stage.plan, call.type) || outcome === undefined || !("error" in outcome)) return;
        const { error } = outcome;
        if (!(error instanceof LimpetError) || USUAL.has(error.code) || call.how.via !== undefined) return;
        if (!calm.isCalm(stage.now - beganAt)) return;
        const isHost = (player: Player): boolean =>
          player.planned.namespace === namespace && isHostOf(stage.plan, player, call.type);
        // No host of the namespace has the type, or all that have it are stopping.
        if (error.code === "NO_HOST" && !stage.players.some((player) => isHost(player) && isReady(player))) return;
        // A stopping host returns this error to its own callers; it forwards the calls of others.
        if (error.code === "STOPPING" && !isReady(stage.player(call.from))) return;
        if (error.code === "CALL_CANCELLED" && call.how.cancelMs !== undefined) return;
        const turn = begun.get(token);
        const isCutOff = error.code === "CALL_CANCELLED" && turn !== undefined;
        if (isCutOff && stage.now - turn.beganAt >= stage.plan.sharded![call.type]!.handOff * SHORT) return;
        report(`${token} on ${labelOf(call)} got ${error.code} although everything was well: ${error.message}`);
      },
    };
  },
};

const isReady = ({ host }: Player): boolean => host.isUp && host.app.host.status().ready;

/** Tolerance for differences between clocks. */
const SHORT = 0.9;
