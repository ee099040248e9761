// Formats numbers, labels and help texts of the Prometheus text format.
import type { Labels } from "../ports/meter.ts";

export function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}

/** Sorted by name, so that equal labels have equal text. */
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
