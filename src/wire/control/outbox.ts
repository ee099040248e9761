// Bounded queue of one stream, as the async iterator that the library reads. `push` reports a full queue. A
// queued item must not change; it is serialized into chunks when its turn comes.

export class StreamOutbox<In extends object, Out> implements AsyncIterableIterator<Out> {
  readonly #most: number;
  readonly #write: (item: In) => readonly Out[];
  readonly #items: In[] = [];
  /** Chunks of the current item, the last one first. */
  #pieces: Out[] = [];
  #waiting: PromiseWithResolvers<IteratorResult<Out>> | undefined;
  #end: { readonly error: Error | undefined } | undefined;

  constructor(most: number, write: (item: In) => readonly Out[]) {
    this.#most = most;
    this.#write = write;
  }

  /** Returns false when the queue is full. After the end, items are dropped. */
  push(item: In): boolean {
    if (this.#end !== undefined) return true;
    if (this.#items.length >= this.#most) return false;
    this.#items.push(item);
    this.#wake();
    return true;
  }

  /** Replaces all waiting items, for streams where only the newest matters. */
  replace(item: In): void {
    this.#items.length = 0;
    this.push(item);
  }

  /** Accepts no more items. Waiting items are still delivered, and then the error, if there is one. */
  end(error?: Error): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** Ends the queue and drops the waiting items. */
  cut(error?: Error): void {
    this.#items.length = 0;
    this.#pieces = [];
    this.end(error);
  }

  async next(): Promise<IteratorResult<Out>> {
    if (this.#pieces.length === 0 && this.#items.length > 0)
      this.#pieces = this.#write(this.#items.shift()!).toReversed();
    const value = this.#pieces.pop();
    if (value !== undefined) return { value, done: false };
    if (this.#end === undefined) {
      this.#waiting = Promise.withResolvers();
      return this.#waiting.promise;
    }
    const { error } = this.#end;
    // The error is thrown once.
    this.#end = { error: undefined };
    if (error !== undefined) throw error;
    return { value: undefined, done: true };
  }

  async return(): Promise<IteratorResult<Out>> {
    this.cut();
    return { value: undefined, done: true };
  }

  throw(): Promise<IteratorResult<Out>> {
    return this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(this.next());
  }
}
