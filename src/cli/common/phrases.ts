// Formats numbers, times, hosts and shell words for display. Pure.

import { formatDuration, isoMoment } from "../../kernel/durations.ts";

/** The class option that makes actors sticky; it ends many hints. */
export const STICKY_RECIPE = 'static options = { placement: "sticky" }';

/** The class option that shards a type. */
export const SHARDED_RECIPE = "static options = { placement: sharded() }";

/** The call that sets a reminder. */
export const REMINDER_RECIPE = 'this.reminders.set("pay", { due: "10m" })';

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

/** `1.2s`, `250ms`, `2h3m`: exact for short spans, rounded for long ones. */
export function formatSpan(ms: number): string {
  if (ms >= 1_000 && ms < 10_000) return `${(ms / 1_000).toFixed(1)}s`;
  return ms >= 3_600_000 ? formatDuration(Math.round(ms / 60_000) * 60_000) : formatDuration(Math.max(0, ms));
}

export function ago(moment: number, now: number): string {
  const ms = now - moment;
  return ms < 1_000 ? "just now" : `${formatSpan(ms)} ago`;
}

/** An exact time, and the time since then. */
export function moment(ms: number, now: number): string {
  return `${isoMoment(ms)} (${ago(ms, now)})`;
}

/** `in 12s`, `now`, `3m ago`. */
export function fromNow(ms: number, now: number): string {
  return ms - now < 1_000 ? ago(ms, now).replace("just now", "now") : `in ${formatSpan(ms - now)}`;
}

/** An exact time, and its distance from now. */
export function when(ms: number, now: number): string {
  return `${isoMoment(ms)} (${fromNow(ms, now)})`;
}

/** `alpha (10.0.0.5:7401)`, or the address alone. */
export function showHost(address: string, name: string | undefined): string {
  return name === undefined || name === "" ? address : `${name} (${address})`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `a`, `a and b`, `a, b and c`. */
export function sentenceList(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? "";
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

export function shellWord(text: string, platform: NodeJS.Platform = process.platform): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (platform === "win32") return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
