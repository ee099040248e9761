// Resolves the settings from all sources. Precedence grows in this order: default, file, code, environment,
// flag. Every value is checked, even one that a later source overrides, so that a wrong line is noticed at
// once.

import { findConfigFile, readConfigFile } from "./config-file.ts";
import type { LimpetSettings } from "./limpet-settings.ts";
import { nestedEntries } from "./nested-entries.ts";
import { OPTIONS, SETTING_KEYS, type SettingKey, type Settings } from "./options.ts";
import { type Entry, type Origin, SOURCES } from "./origin.ts";
import { readValue } from "./read-value.ts";
import { checkRelations, type Origins } from "./relations.ts";

export type { LogLevel } from "../ports/log.ts";
export type { ClusterSettings, HttpSettings, LimpetSettings } from "./limpet-settings.ts";
export type { Settings } from "./options.ts";

export interface SettingSources {
  /** Arguments of `limpet({ … })`. */
  readonly code?: LimpetSettings;
  /** Defaults of a command. Every setting of the user, also in a file, overrides them. */
  readonly command?: LimpetSettings;
  /** A file to read, `false` for none. Otherwise LIMPET_CONFIG, or limpet.yaml in `cwd` if it exists. */
  readonly file?: string | false;
  /** Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** By flag name without dashes: `{ port: "8000", token: ["…"] }`. */
  readonly flags?: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  readonly cwd?: string;
}

export interface ResolvedSettings {
  readonly settings: Settings;
  /** The origin of each value. */
  readonly origins: Origins;
  /** The configuration file that was read. */
  readonly file: string | undefined;
}

export function resolveSettings(sources: SettingSources = {}): Settings {
  return resolveWithOrigins(sources).settings;
}

export function resolveWithOrigins(sources: SettingSources = {}): ResolvedSettings {
  const { code = {}, command = {}, env = process.env, flags = {}, cwd = process.cwd() } = sources;
  const asked = sources.file || env.LIMPET_CONFIG || undefined;
  const file = sources.file === false ? undefined : findConfigFile(asked, cwd);
  const entries = [
    ...SETTING_KEYS.map(defaultEntry),
    ...nestedEntries(command, (path) => ({ source: "command", name: path.join(".") })),
    ...(file === undefined ? [] : readConfigFile(file, cwd)),
    ...nestedEntries(code, (path) => ({ source: "code", name: path.join(".") })),
    ...envEntries(env),
    ...flagEntries(flags),
  ];
  const values: Partial<Record<SettingKey, Settings[SettingKey]>> = {};
  const origins: Partial<Record<SettingKey, Origin>> = {};
  for (const entry of entries) {
    values[entry.key] = readValue(entry);
    origins[entry.key] = entry.origin;
  }
  // The defaults come first, so every key is present and has the right kind.
  const resolved = { settings: values as unknown as Settings, origins: origins as Origins, file };
  checkRelations(resolved.settings, resolved.origins);
  return resolved;
}

function defaultEntry(key: SettingKey): Entry {
  const option = OPTIONS[key];
  return { key, value: option.default, origin: { source: SOURCES[0], name: option.path } };
}

function envEntries(env: Readonly<Record<string, string | undefined>>): Entry[] {
  const entries: Entry[] = [];
  for (const key of SETTING_KEYS) {
    const name = OPTIONS[key].env;
    const value = env[name];
    // Compose files and shells pass on unset variables as empty ones.
    if (value === undefined || value === "") continue;
    entries.push({ key, value, origin: { source: "environment", name } });
  }
  return entries;
}

function flagEntries(flags: NonNullable<SettingSources["flags"]>): Entry[] {
  const entries: Entry[] = [];
  for (const key of SETTING_KEYS) {
    const { flag } = OPTIONS[key];
    const value = flags[flag];
    if (value === undefined) continue;
    const name = value === false ? `--no-${flag}` : `--${flag}`;
    entries.push({ key, value, origin: { source: "flag", name } });
  }
  return entries;
}
