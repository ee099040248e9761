// Sends messages to a run. Messages of clients go to the open run of a workflow; outcomes of commands go only
// to the run that issued them. A request to end wakes a run at once, even while its blocked task waits for a
// retry.
import { LimpetError } from "../../kernel/errors.ts";
import { textProblem } from "../../kernel/names.ts";
import type { DeliveryOutcome, InboxMessage, Workflows } from "../../ports/store/workflows.ts";
import { type Message, type Sent, writeMessage } from "../definition/messages.ts";
import type { ExternalEvent } from "../engine/events.ts";
import { nextOf } from "../worker/run-reader.ts";

/** One key for all cancellation requests of a run, so it receives one. */
export const CANCEL_KEY = "cancel";
export const CLEANUP_KEY = "clean up";
/** Clients choose the ids of signals and updates freely; the prefixes keep them apart from other keys. */
export const signalKey = (id: string): string => `signal ${id}`;
export const updateKey = (id: string): string => `update ${id}`;

/** The key by which a run detects repeated messages; undefined: it cannot. */
export const keyOf = (event: ExternalEvent): string | undefined => {
  if (event.kind === "CleanupRequested") return CLEANUP_KEY;
  if (!("id" in event)) return undefined;
  return event.kind === "SignalReceived" ? signalKey(event.id) : updateKey(event.id);
};

/** Throws NAME_INVALID for an id that some store cannot keep. */
export function checkRequestId(what: "signal" | "update", id: unknown): asserts id is string {
  const problem = textProblem(id);
  if (problem !== undefined) throw new LimpetError("NAME_INVALID", `${what} id ${problem}`);
}

const asksToEnd = ({ kind }: Message): boolean =>
  kind === "CancelRequested" || kind === "TerminateRequested" || kind === "CleanupRequested";

export function inboxMessage(
  to: Omit<InboxMessage, "data" | "goesAlong">,
  message: Message,
  more?: Omit<Sent, "message">,
): InboxMessage {
  const { namespace, workflowId, runId, key } = to;
  const goesAlong = !("of" in message) && message.kind !== "LookAgain";
  const sent = { namespace, workflowId, runId, key, data: writeMessage(message, more), goesAlong };
  return asksToEnd(message) ? { ...sent, wakes: true } : sent;
}

/**
 * Delivers a message. If other runs continued the addressed one, the message follows them to the open run.
 */
export async function sendTo(
  store: Pick<Workflows, "deliver" | "find">,
  message: InboxMessage,
): Promise<DeliveryOutcome> {
  let isAmbiguous: boolean | undefined;
  for (let to = message; ; ) {
    const [outcome] = await store.deliver([to]);
    if (outcome!.kind === "delivered") return outcome!;
    isAmbiguous ||= outcome!.isAmbiguous;
    const refused = { ...outcome!, isInDoubt: isAmbiguous };
    if (refused.status !== "continued" || !to.goesAlong || to.runId === undefined) return refused;
    const run = await store.find(to).catch((error: unknown) => {
      if (!isAmbiguous) throw error;
    });
    const next = run && nextOf(run);
    if (next === undefined) return refused;
    to = { ...to, runId: next };
  }
}
