// A control stream within one process: messages arrive in the next tick, in order, as they would over the
// network.
import { type ErrorCode, LimpetError } from "../../kernel/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ControlListener, ControlStream, HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";

type Reason = { readonly code: string; readonly message: string };

export function localStream(
  clock: Clock,
  host: ControlListener<SchedulerMessage>,
  accept: (stream: ControlStream<SchedulerMessage>) => ControlListener<HostMessage>,
): ControlStream<HostMessage> {
  let open = true;
  const close = (reason?: Reason): void => {
    if (!open) return;
    open = false;
    // Messages sent earlier arrive earlier.
    clock.soon(() => {
      const error = reason && new LimpetError(reason.code as ErrorCode, reason.message);
      scheduler.closed(error);
      host.closed(error);
    });
  };
  const soon = (deliver: () => void): void => {
    if (open) clock.soon(deliver);
  };
  const scheduler = accept({ send: (message) => soon(() => host.message(message)), close });
  return { send: (message) => soon(() => scheduler.message(message)), close };
}
