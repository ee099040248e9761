// Two places and a connection between them, for tests of the virtual network.
import assert from "node:assert/strict";
import { Prng } from "../../kernel/prng.ts";
import { Timeline } from "../timeline.ts";
import { Dummy } from "../world-kit.test.ts";
import { addressOf, type End, type Ending, Network, type Patience, type Receiver } from "./network.ts";

const PATIENCE: Patience = { connectMs: 2_000, tickMs: 1_000, silentTicks: 5, queue: 1_000 };
export const PORT = 7_401;

/** Records messages and the end of a connection. */
export class RecordingReceiver implements Receiver {
  readonly received: unknown[] = [];
  readonly endings: Ending[] = [];
  endedAt = 0;
  readonly #timeline: Timeline;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  message(message: unknown): void {
    assert.deepEqual(this.endings, [], "nothing comes after the end");
    this.received.push(message);
  }

  ended(how: Ending): void {
    this.endings.push(how);
    this.endedAt = this.#timeline.now;
  }
}

/** Two processes at two places, and a listener at the second. */
export class Two {
  readonly timeline = new Timeline();
  readonly network: Network;
  readonly a = new Dummy(1);
  readonly b = new Dummy(2);
  readonly address = addressOf(2, PORT);
  /** Accepted connections. */
  readonly accepted: { readonly end: End; readonly receiver: RecordingReceiver }[] = [];
  readonly listening: { close(): void };

  constructor(seed = 1) {
    this.network = new Network(this.timeline, new Prng(seed));
    this.listening = this.listen(this.b);
  }

  listen(station: Dummy): { close(): void } {
    return this.network.listen(this.address, station, (end) => {
      const receiver = new RecordingReceiver(this.timeline);
      this.accepted.push({ end, receiver });
      return receiver;
    });
  }

  connect(patience: Partial<Patience> = {}): { readonly end: End; readonly receiver: RecordingReceiver } {
    const receiver = new RecordingReceiver(this.timeline);
    const end = this.network.connect(this.a, this.address, { ...PATIENCE, ...patience }, receiver);
    return { end, receiver };
  }

  /** Connects, and waits until both ends know it. */
  async connected(patience: Partial<Patience> = {}) {
    const near = this.connect(patience);
    await this.pass(100);
    const far = this.accepted.at(-1)!;
    assert.ok(near.end.isOpen && !near.end.isConnecting && far.end.isOpen);
    return { near, far };
  }

  pass(ms: number): Promise<void> {
    return this.timeline.run(this.timeline.now + ms);
  }

  cut(from: number, to: number): void {
    this.network.change(from, to, { isOpen: false });
  }

  mend(from: number, to: number): void {
    this.network.change(from, to, { isOpen: true });
  }
}
