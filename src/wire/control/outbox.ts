// What waits to be sent on one stream, in the form in which the library asks for it: one piece after the other. Bounded:
// whoever fills it is told so. What is put in must not change afterwards; it is turned into pieces when its turn comes.

export class Outbox<In extends object, Out> implements AsyncIterableIterator<Out> {
  readonly #most: number;
  readonly #write: (item: In) => readonly Out[];
  readonly #items: In[] = [];
  /** Of the item whose turn it is, the last piece first. */
  #pieces: Out[] = [];
  #waiting: PromiseWithResolvers<IteratorResult<Out>> | undefined;
  #end: { readonly error: Error | undefined } | undefined;

  constructor(most: number, write: (item: In) => readonly Out[]) {
    this.#most = most;
    this.#write = write;
  }

  /** False: it is full. After the end, things are dropped. */
  push(item: In): boolean {
    if (this.#end !== undefined) return true;
    if (this.#items.length >= this.#most) return false;
    this.#items.push(item);
    this.#wake();
    return true;
  }

  /** Where only the newest matters: takes the place of everything that waits. */
  replace(item: In): void {
    this.#items.length = 0;
    this.push(item);
  }

  /** Nothing more comes. What waits is still given out, and then the error, if there is one. */
  end(error?: Error): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** The end, and what waits is dropped. */
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
    // It is given out once.
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
