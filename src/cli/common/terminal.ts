// The output of a command: results on stdout, messages on stderr, and colours only on a terminal. A closed
// reader (`limpet actors | head -1`) is not an error: further output is dropped.

import { stripVTControlCharacters, styleText } from "node:util";

export interface Stream {
  write(text: string, done?: () => void): unknown;
  readonly isTTY?: boolean;
  on?(event: "error", listener: (error: Error) => void): unknown;
}

export type Env = Readonly<Record<string, string | undefined>>;
export type Tint = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Text with or without colour, for one stream. */
export type Paint = (tint: Tint, text: string) => string;

export class Terminal {
  readonly #stdout: Stream;
  readonly #stderr: Stream;
  readonly paint: Paint;
  readonly paintErr: Paint;
  /** stdout is a terminal. */
  readonly isTTY: boolean;
  /** stderr is a terminal. */
  readonly errIsTTY: boolean;
  #gone = false;

  constructor(stdout: Stream, stderr: Stream, env: Env) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.isTTY = stdout.isTTY === true;
    this.errIsTTY = stderr.isTTY === true;
    this.paint = painter(wantsColour(stdout, env));
    this.paintErr = painter(wantsColour(stderr, env));
    for (const stream of [stdout, stderr]) {
      stream.on?.("error", (error) => {
        // EIO is a terminal that was closed.
        if (!["EPIPE", "EIO"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
        if (stream === stdout) this.#gone = true;
      });
    }
  }

  /** The reader of stdout is gone; a long listing may stop. */
  get gone(): boolean {
    return this.#gone;
  }

  line(text = ""): void {
    if (!this.#gone) this.#stdout.write(`${text}\n`);
  }

  errLine(text = ""): void {
    this.#stderr.write(`${text}\n`);
  }

  json(value: unknown): void {
    this.line(this.isTTY ? JSON.stringify(value, null, 2) : JSON.stringify(value));
  }

  /** Resolves when all output has left the process. */
  async flush(): Promise<void> {
    for (const stream of [this.#stdout, this.#stderr]) {
      await new Promise<void>((resolve) => stream.write("", () => resolve()));
    }
  }
}

export function wantsColour(stream: Stream, env: Env): boolean {
  // The conventions of no-color.org and force-color.org, in the order of Node itself.
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "") return !/^(0|false)$/i.test(env.FORCE_COLOR);
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return false;
  return stream.isTTY === true && env.TERM !== "dumb";
}

function painter(coloured: boolean): Paint {
  return (tint, text) => (coloured ? styleText(tint, text, { validateStream: false }) : text);
}

// Control characters, and marks that reverse the direction of text: a name or message from another process
// must not overwrite the screen.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Makes text of other processes safe to show. Line breaks and tabs stay. */
export function safe(text: string): string {
  return stripVTControlCharacters(text).replace(UNSAFE, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
