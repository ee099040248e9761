// How something is sent to a run. What a workflow is told or asked by others is for whichever run of it is open; what comes of the decisions
// of one run is for that run alone.
import type { Arrival } from "../ports/workflows.ts";
import { type Message, type Sent, writeMessage } from "./messages.ts";

/** However often a run is asked to end, it is asked once. Whoever is asked is not left waiting, also when its code could not go on. */
export const CANCEL_KEY = "cancel";

export function arrivalOf(
  to: Omit<Arrival, "data" | "goesAlong">,
  message: Message,
  more?: Omit<Sent, "message">,
): Arrival {
  const { namespace, workflowId, runId, key } = to;
  const goesAlong = !("of" in message) && message.kind !== "LookAgain";
  return { namespace, workflowId, runId, key, data: writeMessage(message, more), goesAlong };
}
