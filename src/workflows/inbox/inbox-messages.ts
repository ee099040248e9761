// How something is sent to a run. What a workflow is told or asked by others is for whichever run of it is open; what comes of the decisions
// of one run is for that run alone. Who is asked to end hears it at once, also when its code could not go on and waits for its next try.
import { LimpetError } from "../../kernel/errors.ts";
import { textProblem } from "../../kernel/names.ts";
import type { DeliveryOutcome, InboxMessage, Workflows } from "../../ports/workflows.ts";
import { type Message, type Sent, writeMessage } from "../definition/messages.ts";
import type { ExternalEvent } from "../engine/events.ts";
import { nextOf } from "../worker/run-reader.ts";

/** However often a run is asked to end, it is asked once. */
export const CANCEL_KEY = "cancel";
export const CLEANUP_KEY = "clean up";
/** People choose the ids of what they ask for, and may choose any: they are never what something else goes by. */
export const signalKey = (id: string): string => `signal ${id}`;
export const updateKey = (id: string): string => `update ${id}`;

/** By which a run knows what it has heard; undefined: there is nothing to know it by. */
export const keyOf = (news: ExternalEvent): string | undefined => {
  if (news.kind === "CleanupRequested") return CLEANUP_KEY;
  if (!("id" in news)) return undefined;
  return news.kind === "SignalReceived" ? signalKey(news.id) : updateKey(news.id);
};

/** Throws NAME_INVALID for an id that not every store could keep. */
export function checkRequestId(what: "signal" | "update", id: unknown): asserts id is string {
  const problem = textProblem(id);
  if (problem !== undefined) throw new LimpetError("NAME_INVALID", `${what} id ${problem}`);
}

const asksToEnd = ({ kind }: Message): boolean =>
  kind === "CancelRequested" || kind === "TerminateRequested" || kind === "CleanupRequested";

export function arrivalOf(
  to: Omit<InboxMessage, "data" | "goesAlong">,
  message: Message,
  more?: Omit<Sent, "message">,
): InboxMessage {
  const { namespace, workflowId, runId, key } = to;
  const goesAlong = !("of" in message) && message.kind !== "LookAgain";
  const arrival = { namespace, workflowId, runId, key, data: writeMessage(message, more), goesAlong };
  return asksToEnd(message) ? { ...arrival, wakes: true } : arrival;
}

/** Sends it. What was meant for a run that others continue by now follows them to the one that is open. */
export async function sendTo(
  store: Pick<Workflows, "arrive" | "find">,
  arrival: InboxMessage,
): Promise<DeliveryOutcome> {
  let isInDoubt: boolean | undefined;
  for (let to = arrival; ; ) {
    const [outcome] = await store.arrive([to]);
    if (outcome!.kind === "arrived") return outcome!;
    isInDoubt ||= outcome!.isInDoubt;
    const refused = { ...outcome!, isInDoubt };
    if (refused.status !== "continued" || !to.goesAlong || to.runId === undefined) return refused;
    const run = await store.find(to).catch((error: unknown) => {
      if (!isInDoubt) throw error;
    });
    const next = run && nextOf(run);
    if (next === undefined) return refused;
    to = { ...to, runId: next };
  }
}
