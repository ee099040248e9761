// Progress on standard error: on a terminal one line that is overwritten, otherwise a line from time to time.
import type { Stream } from "../../src/cli/common/terminal.ts";

const ON_A_TERMINAL_MS = 200;
const IN_A_PIPE_MS = 10_000;

export class Progress {
  readonly #stream: Stream;
  readonly #line: () => string;
  readonly #timer: NodeJS.Timeout;
  #isShown = false;

  constructor(stream: Stream, line: () => string) {
    this.#stream = stream;
    this.#line = line;
    this.#timer = setInterval(() => this.show(), stream.isTTY ? ON_A_TERMINAL_MS : IN_A_PIPE_MS);
    this.#timer.unref();
  }

  show(): void {
    if (!this.#stream.isTTY) {
      this.#stream.write(`${this.#line()}\n`);
      return;
    }
    this.clear();
    // A line that is wider than the terminal could not be overwritten.
    const width = (this.#stream as { columns?: number }).columns ?? 80;
    this.#stream.write(this.#line().slice(0, width - 1));
    this.#isShown = true;
  }

  /** Clears the line before other output. */
  clear(): void {
    if (this.#isShown) this.#stream.write("\r\u001b[K");
    this.#isShown = false;
  }

  end(): void {
    clearInterval(this.#timer);
    this.clear();
  }
}
