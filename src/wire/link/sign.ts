// A message that consists only of its kind: ping, pong, bye. One that already waits is not queued twice.
import type { FrameWriter } from "./frame-writer.ts";
import type { OutgoingFrame } from "./outbox.ts";

export class Sign implements OutgoingFrame {
  readonly bytes = 8;
  readonly takenOut = false;
  readonly #kind: number;
  waits = false;

  constructor(kind: number) {
    this.#kind = kind;
  }

  write(writer: FrameWriter): void {
    this.waits = false;
    writer.message(1, this.#kind);
  }
}
