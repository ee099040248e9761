// Events of a virtual world for display: host, event and time. A long story keeps only its last part.
import type { Log, LogFields } from "../ports/log.ts";
import type { Timeline } from "./timeline.ts";

export interface StoryLine {
  /** Milliseconds since the start of the world. */
  readonly at: number;
  /** The host of the event; empty for the world itself. */
  readonly who: string;
  readonly level: keyof Log;
  readonly event: string;
  readonly fields: LogFields | undefined;
}

const MOST_LINES = 50_000;

export class Story {
  readonly #timeline: Timeline;
  #lines: StoryLine[] = [];
  /** Called with every line. */
  onLine: ((line: StoryLine) => void) | undefined;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  get lines(): readonly StoryLine[] {
    return this.#lines;
  }

  record(who: string, level: keyof Log, event: string, fields?: LogFields): void {
    const line = { at: this.#timeline.now, who, level, event, fields };
    // Runs with different stories are different runs.
    if (level !== "debug") this.#timeline.noteText(event);
    if (this.#lines.length >= MOST_LINES) this.#lines = this.#lines.slice(MOST_LINES / 2);
    this.#lines.push(line);
    this.onLine?.(line);
  }

  /** A log whose lines become part of the story. */
  logOf(who: string): Log {
    return {
      debug: (event, fields) => this.record(who, "debug", event, fields),
      info: (event, fields) => this.record(who, "info", event, fields),
      warn: (event, fields) => this.record(who, "warn", event, fields),
      error: (event, fields) => this.record(who, "error", event, fields),
    };
  }
}

/** `12.345s host-1 leading term=3` */
export function showLine({ at, who, event, fields }: StoryLine): string {
  const seconds = `${(at / 1_000).toFixed(3)}s`.padStart(10);
  const shown = Object.entries(fields ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${showValue(value)}`);
  return [seconds, (who || "—").padEnd(8), event, ...shown].join(" ");
}

function showValue(value: unknown): string {
  if (value instanceof Error) {
    const { code } = value as { code?: string };
    return JSON.stringify(code === undefined ? value.message : `${code}: ${value.message}`);
  }
  return typeof value === "string" && /^[\w.:/-]+$/.test(value) ? value : (JSON.stringify(value) ?? "undefined");
}
