// Writes logs as JSON lines on stderr, by pino. A line holds the event, the given fields, and the name, code,
// message and stack of an error. Other properties of an error are left out, because they may be payloads.
// Logging never throws and never waits: lines for a blocked stderr are buffered up to a limit, then dropped.
import { pino } from "pino";
import type { Log, LogFields, LogLevel } from "../ports/log.ts";
import { describeError, isSecretName, REDACTED, scrub } from "./redact.ts";

export interface LogSettings {
  readonly level: LogLevel;
  /** Receives whole lines. Without it they go to stderr. */
  readonly destination?: { write(line: string): void };
}

/** Lines that wait for a blocked stderr. */
const BACKLOG_BYTES = 8 * 1024 * 1024;
/** The longest list of texts in one field. */
const MOST_TEXTS = 100;

export function createLog({ level, destination }: LogSettings): Log {
  const logger = pino(
    {
      level,
      // The reader of stderr knows the process and the machine.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Errors arrive here already described; pino's own serializer would add every property they have.
      serializers: { err: (err: unknown) => err },
    },
    // Asynchronous, and flushed by pino when the process exits.
    destination ?? pino.destination({ dest: 2, sync: false, maxLength: BACKLOG_BYTES }),
  );
  const line = (to: "debug" | "info" | "warn" | "error") => (event: string, fields?: LogFields) => {
    if (logger.isLevelEnabled(to)) logger[to](shape(event, fields));
  };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

/** A list of names, such as types or turns. Other objects may be payloads. */
const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

function shape(event: string, fields: LogFields | undefined): Record<string, unknown> {
  const out: Record<string, unknown> = { event };
  for (const [name, value] of Object.entries(fields ?? {}) as [string, unknown][]) {
    // pino writes these two itself; a second one would make the line ambiguous.
    if (value === undefined || name === "event" || name === "level" || name === "time") continue;
    if (isSecretName(name)) out[name] = REDACTED;
    else if (name === "err") out.err = describeError(value);
    else if (typeof value === "string") out[name] = scrub(value);
    else if (typeof value === "number" || typeof value === "boolean") out[name] = value;
    else if (isTexts(value)) out[name] = value.slice(0, MOST_TEXTS).map(scrub);
    else out[name] = `(${typeof value})`;
  }
  return out;
}
