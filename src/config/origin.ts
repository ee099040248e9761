// Where a value came from, for people: in errors, and in `limpet doctor`.

import type { SettingKey } from "./options.ts";

/** In order of increasing weight. `command`: a default of one command of the command line, such as `limpet dev`. */
export const SOURCES = ["default", "command", "file", "code", "environment", "flag"] as const;
export type Source = (typeof SOURCES)[number];

export interface Origin {
  readonly source: Source;
  /** As its author wrote it: `http.port`, `LIMPET_HTTP_PORT`, `--port`. */
  readonly name: string;
  /** The file and line, where there is one. */
  readonly place?: string | undefined;
}

/** One value that somebody set, not yet read. */
export interface Entry {
  readonly key: SettingKey;
  readonly value: unknown;
  readonly origin: Origin;
}

/** How an error names it: `http.port (limpet.yaml:3)`. */
export function describeOrigin({ source, name, place }: Origin): string {
  if (source === "flag") return name;
  if (source === "environment") return `${name} (environment)`;
  return place === undefined ? `${name} (${source})` : `${name} (${place})`;
}
