// Queues the requests in the worker thread: urgent ones first, then the others, each in their order. It holds
// only requests that the event loop has sent and that have no response yet.
import { type ThreadRequest, verbOf } from "./verbs.ts";

export class Inbox {
  readonly #receive: () => ThreadRequest | undefined;
  readonly #urgent: ThreadRequest[] = [];
  readonly #others: ThreadRequest[] = [];

  /** `receive` returns the requests that have arrived meanwhile, one per call, and never waits. */
  constructor(receive: () => ThreadRequest | undefined) {
    this.#receive = receive;
  }

  put(request: ThreadRequest): void {
    (verbOf(request).isUrgent ? this.#urgent : this.#others).push(request);
  }

  next(): ThreadRequest | undefined {
    this.#fetch();
    return this.#urgent.shift() ?? this.#others.shift();
  }

  /** The next request, if it is a write; `urgentOnly` when there is no room for the others. */
  nextWrite(urgentOnly: boolean): ThreadRequest | undefined {
    this.#fetch();
    const queue = urgentOnly || this.#urgent.length > 0 ? this.#urgent : this.#others;
    return queue[0] !== undefined && verbOf(queue[0]).kind === "write" ? queue.shift() : undefined;
  }

  #fetch(): void {
    for (let got = this.#receive(); got !== undefined; got = this.#receive()) this.put(got);
  }
}
