// Checks the settings and shows the source of each. Pure.

import { OPTIONS, OTHER_ENV, SETTING_KEYS, type SettingKey, type Settings } from "../../config/options.ts";
import { shownValue } from "../../config/read-value.ts";
import type { ResolvedSettings } from "../../config/settings.ts";
import { formatDuration } from "../../kernel/durations.ts";
import { nearest } from "../../kernel/nearest.ts";
import type { Env } from "../common/terminal.ts";
import { type Check, passed, warn } from "./check.ts";

const SHORT_TOKEN = 16;

export function checkSettings({ settings, file }: ResolvedSettings, env: Env): Check[] {
  const checks = [
    passed("Settings", file === undefined ? "valid; there is no limpet.yaml here" : `valid; ${file} was read`),
  ];
  const known = [...SETTING_KEYS.map((key) => OPTIONS[key].env), ...OTHER_ENV];
  for (const name of Object.keys(env)) {
    if (!name.startsWith("LIMPET_") || known.includes(name)) continue;
    // Other programs may use variables with this prefix; only a probable typing error gets a warning.
    const meant = nearest(
      name.slice("LIMPET_".length),
      known.map((each) => each.slice("LIMPET_".length)),
    );
    if (meant !== undefined)
      checks.push(warn("Environment", `${name} is not a setting`, `Did you mean LIMPET_${meant}?`));
  }
  if (settings.httpTokens.some((token) => token.length < SHORT_TOKEN)) {
    checks.push(warn("Tokens", `one is shorter than ${SHORT_TOKEN} characters`, "Make one with: openssl rand -hex 24"));
  }
  return checks;
}

export interface ShownSetting {
  readonly name: string;
  readonly value: string;
  readonly source: string;
}

export function shownSettings({ settings, origins }: ResolvedSettings): ShownSetting[] {
  return SETTING_KEYS.map((key) => {
    const origin = origins[key];
    const source = origin.place ?? (origin.source === "default" ? "default" : origin.name);
    return { name: OPTIONS[key].path, value: shown(key, settings[key]), source };
  });
}

function shown(key: SettingKey, value: Settings[SettingKey]): string {
  const { secret, kind } = OPTIONS[key];
  const nothing = typeof value === "object" || typeof value === "string" ? value.length === 0 : false;
  if (nothing) return "none";
  if (typeof value === "object") return secret ? `${value.length} (hidden)` : value.join(", ");
  if (secret) return "(hidden)";
  if (typeof value === "string") return JSON.parse(shownValue(key, value).replace(/…$/, '…"')) as string;
  return kind === "duration" ? exactDuration(Number(value)) : String(value);
}

/** For display, but never rounded: it shows the configured value. */
const exactDuration = (ms: number): string => (ms % 1_000 === 0 ? formatDuration(ms) : `${ms}ms`);
