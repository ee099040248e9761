// The stream between a host and the leading scheduler, as both see it. Its messages are values of ports/control-messages.ts;
// ports know no rooms, so they are type parameters here.

/** One end of a stream. Neither method throws; what cannot be sent any more is dropped. */
export interface ControlStream<Out> {
  send(message: Out): void;
  /** Ends it, with an error that the other end is told. Idempotent. */
  close(error?: { readonly code: string; readonly message: string }): void;
}

/** What an end of a stream hears. `closed` comes once, last. */
export interface ControlListener<In> {
  message(message: In): void;
  closed(error: Error | undefined): void;
}
