// What a command writes to: results on stdout, everything about them on stderr. Colours only where a person looks.
// A reader that has gone (`limpet actors | head -1`) is no error: what follows is dropped.

import { stripVTControlCharacters, styleText } from "node:util";

export interface Stream {
  write(text: string, done?: () => void): unknown;
  readonly isTTY?: boolean | undefined;
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
  /** A person reads stdout. */
  readonly isTTY: boolean;
  /** A person reads stderr. */
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

  /** Nobody reads stdout any more; a long listing may stop. */
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

  /** Resolves when what was written has left the process. */
  async flush(): Promise<void> {
    for (const stream of [this.#stdout, this.#stderr]) {
      await new Promise<void>((resolve) => stream.write("", () => resolve()));
    }
  }
}

export function wantsColour(stream: Stream, env: Env): boolean {
  // The conventions of no-color.org and force-color.org, in the order Node itself gives them.
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "") return !/^(0|false)$/i.test(env.FORCE_COLOR);
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return false;
  return stream.isTTY === true && env.TERM !== "dumb";
}

function painter(coloured: boolean): Paint {
  return (tint, text) => (coloured ? styleText(tint, text, { validateStream: false }) : text);
}

// Control characters, and the marks that turn the direction of text around: a name or a message from elsewhere must
// not be able to write over what stands on the screen.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text from elsewhere, safe to show. Line breaks and tabs stay. */
export function safe(text: string): string {
  return stripVTControlCharacters(text).replace(UNSAFE, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
