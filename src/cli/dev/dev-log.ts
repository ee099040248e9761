// Formats log lines for a developer: time, level, event, fields. It reformats the lines of the ordinary log,
// so its redaction applies here too. Without a terminal, the JSON lines stay unchanged.

import { createLog } from "../../observe/log.ts";
import type { Log, LogLevel } from "../../ports/log.ts";
import { type Paint, safe, type Terminal, type Tint } from "../common/terminal.ts";

export function devLog(level: LogLevel, terminal: Terminal, json: boolean): Log {
  if (json || !terminal.errIsTTY) return createLog({ level });
  return createLog({
    level,
    destination: {
      write(line) {
        // The banner shows this already.
        if (!line.includes('"event":"http.listening"')) terminal.errLine(prettyLine(line, terminal.paintErr));
      },
    },
  });
}

const TINTS: Record<string, Tint> = { debug: "dim", info: "green", warn: "yellow", error: "red" };
const FRAMES = 4;

export function prettyLine(line: string, paint: Paint): string {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return safe(line.trimEnd());
  }
  const { level, time, event, err, ...fields } = record;
  const words = Object.entries(fields).map(([name, value]) => `${paint("dim", `${name}=`)}${safe(String(value))}`);
  const head = [
    paint("dim", new Date(String(time)).toTimeString().slice(0, 8)),
    paint(TINTS[String(level)] ?? "dim", String(level).padEnd(5)),
    safe(String(event)),
    ...words,
  ].join(" ");
  return err === undefined ? head : `${head}\n${errorLines(err as DescribedError, paint)}`;
}

interface DescribedError {
  readonly name?: string;
  readonly message?: string;
  readonly stack?: string;
}

/** The error, and its place in the app: frames of Node itself do not help the author of an actor. */
function errorLines({ name, message, stack = "" }: DescribedError, paint: Paint): string {
  const frames = stack
    .split("\n")
    .filter((frame) => /^\s+at /.test(frame) && !/node:|node_modules/.test(frame))
    .slice(0, FRAMES);
  return [`  ${safe(`${name}: ${message}`)}`, ...frames.map((frame) => paint("dim", `  ${safe(frame)}`))].join("\n");
}
