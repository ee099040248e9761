// The origin of a value, for display in errors and in `limpet doctor`.

import type { SettingKey } from "./options.ts";

/** In order of increasing precedence. `command`: a default of one command, such as `limpet dev`. */
export const SOURCES = ["default", "command", "file", "code", "environment", "flag"] as const;
export type Source = (typeof SOURCES)[number];

export interface Origin {
  readonly source: Source;
  /** As its author wrote it: `http.port`, `LIMPET_HTTP_PORT`, `--port`. */
  readonly name: string;
  /** The file and line, if there is one. */
  readonly place?: string;
}

/** The origin of the value at a path in a file or in code. */
export type OriginOf = (path: readonly string[]) => Origin;

/** One configured value, not yet parsed. */
export interface Entry {
  readonly key: SettingKey;
  readonly value: unknown;
  readonly origin: Origin;
}

/** Its name in an error: `http.port (limpet.yaml:3)`. */
export function describeOrigin({ source, name, place }: Origin): string {
  if (source === "flag") return name;
  if (source === "environment") return `${name} (environment)`;
  return place === undefined ? `${name} (${source})` : `${name} (${place})`;
}
