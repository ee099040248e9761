// Decides whether a call may come back to an actor of its own call chain. Pure.
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { type CallOrigin, chainHas, showChain } from "../routing/call-origin.ts";
import type { Turn } from "./turn.ts";

/**
 * - `queue`: an ordinary call; it waits in the mailbox.
 * - `enter`: it runs now, inside the running turn.
 * - `wait`: it runs inside a turn of its chain, after the nested turn that runs there now.
 * - an error: the call could never be answered, or the chain is too long.
 */
export type ReentryDecision = "queue" | "enter" | "wait" | LimpetError;

export function admit(call: Turn, running: Turn | undefined, reentrant: boolean): ReentryDecision {
  const cause = call.parent;
  if (cause === undefined) return "queue";
  let length = 0;
  let reentries = 0;
  let comesBack = false;
  for (let turn: CallOrigin | undefined = cause; turn !== undefined; turn = turn.parent) {
    length++;
    if (turn.outer !== undefined) reentries++;
    if (turn.activation === call.activation && turn.phase === "running") comesBack = true;
  }
  if (length >= LIMITS.chainDepth) return tooDeep(call, `a call chain may have ${LIMITS.chainDepth} calls`);
  if (!comesBack || running === undefined || running.phase !== "running") return "queue";
  if (!reentrant) {
    return new LimpetError(
      "CALL_CYCLE",
      `${call.type.name}/${call.id} waits for a call that comes back to it: ${showChain(call)}. ` +
        `Break the cycle, or allow it with "reentrant: true" in the options of ${call.type.name}`,
    );
  }
  if (reentries >= LIMITS.reentrancyDepth)
    return tooDeep(call, `a chain may come back ${LIMITS.reentrancyDepth} times`);
  return chainHas(cause, (turn) => turn === running) ? "enter" : "wait";
}

function tooDeep(call: Turn, rule: string): LimpetError {
  const chain = showChain(call);
  const shown = chain.length > 500 ? `… ${chain.slice(-500)}` : chain;
  return new LimpetError("CALL_TOO_DEEP", `${rule}: ${shown}`);
}
