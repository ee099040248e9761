// Handles Ctrl-C: the first requests an orderly end, the second ends the process at once.
export class Interrupt {
  isAsked = false;
  readonly #asked = Promise.withResolvers<void>();
  readonly #heard: () => void;

  constructor(say: (line: string) => void, atOnce: () => void = () => {}) {
    this.#heard = () => {
      if (this.isAsked) {
        atOnce();
        process.exit(130);
      }
      this.isAsked = true;
      this.#asked.resolve();
      say("Ending after the running seeds. Ctrl-C again ends at once.");
    };
    process.on("SIGINT", this.#heard).on("SIGTERM", this.#heard);
  }

  get asked(): Promise<void> {
    return this.#asked.promise;
  }

  end(): void {
    process.off("SIGINT", this.#heard).off("SIGTERM", this.#heard);
  }
}
