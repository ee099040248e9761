// Finds and reads limpet.yaml, and splits it into entries that know their line. Unknown keys are errors: a
// misspelt setting that is silently ignored would be noticed only in production.

import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isMap, isScalar, LineCounter, parseDocument, type YAMLMap } from "yaml";
import { LimpetError } from "../kernel/errors.ts";
import { nestedEntries } from "./nested-entries.ts";
import { describeOrigin, type Entry, type OriginOf } from "./origin.ts";
import { BLOCK_NAMES, stickinessEntries } from "./stickiness-block.ts";
import { STICKY_EXECUTION_NAMES, stickyExecutionEntries } from "./sticky-execution-block.ts";

const NAMES = ["limpet.yaml", "limpet.yml"] as const;

/** The file to read: the requested one, or the one in `cwd`, or none. */
export function findConfigFile(asked: string | undefined, cwd: string): string | undefined {
  if (asked !== undefined) return asked;
  const found = NAMES.filter((name) => existsSync(resolve(cwd, name)));
  if (found.length > 1)
    throw new LimpetError("OPTION_INVALID", `there is both ${found.join(" and ")}; keep one of them`);
  return found[0];
}

/** Errors name `file` as it is given. */
export function readConfigFile(file: string, cwd: string): Entry[] {
  let text: string;
  try {
    text = readFileSync(resolve(cwd, file), "utf8");
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const why = code === "ENOENT" ? "does not exist" : `cannot be read (${code})`;
    throw new LimpetError("OPTION_INVALID", `the configuration file ${file} ${why}`, { cause });
  }
  return parseConfig(text, file);
}

export function parseConfig(text: string, file: string): Entry[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const broken = document.errors[0];
  if (broken !== undefined) {
    const { line } = lines.linePos(broken.pos[0]);
    throw new LimpetError("OPTION_INVALID", `${file}:${line}: not valid YAML: ${broken.message}`);
  }
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) return [];
  if (!isMap(document.contents)) {
    throw new LimpetError("OPTION_INVALID", `${file}: must hold settings as "name: value" lines`);
  }
  const originOf: OriginOf = (path) => {
    const offset = keyOffset(document.contents as YAMLMap, path);
    const place = offset === undefined ? file : `${file}:${lines.linePos(offset).line}`;
    return { source: "file", name: path.join("."), place };
  };
  let values: unknown;
  try {
    values = document.toJS();
  } catch (cause) {
    throw new LimpetError("OPTION_INVALID", `${file}: ${(cause as Error).message}`, { cause });
  }
  return entriesOf(values as Record<string, unknown>, originOf);
}

function entriesOf(values: Record<string, unknown>, originOf: OriginOf): Entry[] {
  const { kind, metadata, spec, workflows, ...rest } = values;
  const entries = nestedEntries(rest, originOf, [...BLOCK_NAMES, ...STICKY_EXECUTION_NAMES]);
  const fromBlocks = [
    ...stickinessEntries({ kind, metadata, spec }, originOf),
    ...stickyExecutionEntries(workflows, originOf),
  ];
  for (const fromBlock of fromBlocks) {
    const twin = entries.find(({ key }) => key === fromBlock.key);
    if (twin === undefined) continue;
    const both = `${describeOrigin(twin.origin)} and ${describeOrigin(fromBlock.origin)}`;
    throw new LimpetError("OPTION_INVALID", `${both} set the same option; remove one of them`);
  }
  return [...entries, ...fromBlocks];
}

/** The position of the key in the text. */
function keyOffset(map: YAMLMap, path: readonly string[]): number | undefined {
  const pair = map.items.find((item) => isScalar(item.key) && String(item.key.value) === path[0]);
  if (pair === undefined || !isScalar(pair.key)) return undefined;
  if (path.length > 1 && isMap(pair.value)) return keyOffset(pair.value, path.slice(1)) ?? pair.key.range?.[0];
  return pair.key.range?.[0];
}
