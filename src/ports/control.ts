// The stream between a host and the leading scheduler, as both sides see it. Its messages are the types of
// ports/control-messages.ts, passed as type parameters.

/** One end of a stream. Neither method throws; messages that cannot be sent any more are dropped. */
export interface ControlStream<Out> {
  send(message: Out): void;
  /** Ends the stream, and sends the error to the peer. Idempotent. */
  close(error?: { readonly code: string; readonly message: string }): void;
}

/** The receiver of a stream's messages. `closed` is called once, last. */
export interface ControlListener<In> {
  message(message: In): void;
  closed(error: Error | undefined): void;
}
