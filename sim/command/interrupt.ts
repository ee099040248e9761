// Handles Ctrl-C: the first requests an orderly end, the second ends the process at once.
export class Interrupt {
  isAsked = false;
  readonly #asked = Promise.withResolvers<void>();
  readonly #onSignal: () => void;

  constructor(print: (line: string) => void, atOnce: () => void = () => {}) {
    this.#onSignal = () => {
      if (this.isAsked) {
        atOnce();
        process.exit(130);
      }
      this.isAsked = true;
      this.#asked.resolve();
      print("Ending after the running seeds. Ctrl-C again ends at once.");
    };
    process.on("SIGINT", this.#onSignal).on("SIGTERM", this.#onSignal);
  }

  get asked(): Promise<void> {
    return this.#asked.promise;
  }

  end(): void {
    process.off("SIGINT", this.#onSignal).off("SIGTERM", this.#onSignal);
  }
}
