// The small grammar of the Prometheus text format: how a number, a label and a help text are written.
import type { Labels } from "../ports/meter.ts";

export function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}

/** Sorted by name, so that the same labels are always the same text. */
export function formatLabels(labels: Labels): string {
  const names = Object.keys(labels).sort();
  return names.map((name) => `${name}="${labelValue(labels[name]!)}"`).join(",");
}

export function helpText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function labelValue(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
