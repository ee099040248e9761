// Queues the requests in the worker thread: urgent ones first, then the others, each in their order. It holds
// only requests that the event loop has sent and that have no response yet.
import { isUrgent, isWrite, type ThreadRequest, type Urgent, type Write } from "./messages.ts";

export class Inbox {
  readonly #receive: () => ThreadRequest | undefined;
  readonly #urgent: Urgent[] = [];
  readonly #others: ThreadRequest[] = [];

  /** `receive` returns the requests that have arrived meanwhile, one per call, and never waits. */
  constructor(receive: () => ThreadRequest | undefined) {
    this.#receive = receive;
  }

  put(question: ThreadRequest): void {
    if (isUrgent(question)) this.#urgent.push(question);
    else this.#others.push(question);
  }

  next(): ThreadRequest | undefined {
    this.#fetch();
    return this.#urgent.shift() ?? this.#others.shift();
  }

  /** The next request, if it is a write; `urgentOnly` when there is no room for the others. */
  nextWrite(urgentOnly: boolean): Write | undefined {
    this.#fetch();
    const queue: ThreadRequest[] = urgentOnly || this.#urgent.length > 0 ? this.#urgent : this.#others;
    const first = queue[0];
    if (first === undefined || !isWrite(first)) return undefined;
    queue.shift();
    return first;
  }

  #fetch(): void {
    for (let got = this.#receive(); got !== undefined; got = this.#receive()) this.put(got);
  }
}
