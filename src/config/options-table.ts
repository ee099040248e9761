// Builds the table of docs/options.md from the options; a test keeps the document equal to it. Pure.

import { formatDuration } from "../kernel/durations.ts";
import type { Option } from "./option.ts";
import { OPTIONS, SETTING_KEYS } from "./options.ts";

export function optionsTable(): string {
  const rows = SETTING_KEYS.map((key) => {
    const option = OPTIONS[key];
    const cells = [`\`${option.path}\``, kindOf(option), defaultOf(option), `\`${option.env}\``, flagOf(option)];
    return [...cells, `${option.help} *${option.breaks}*`].map((cell) => cell.replaceAll("|", "\\|"));
  });
  const head = ["setting", "kind", "default", "environment", "flag", "what it does, *and what breaks*"];
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

/** The allowed values, in a few words. */
export function kindOf(option: Option): string {
  if (option.choices !== undefined) return option.choices.join(", ") + (option.kind === "list" ? " or a list" : "");
  if (option.kind === "whole number" && option.max !== undefined) return `${option.min ?? 0} to ${option.max}`;
  if (option.kind === "duration" && option.max !== undefined) {
    return `${formatDuration(option.min ?? 0)} to ${formatDuration(option.max)}`;
  }
  return option.kind;
}

/** The default, as a person would write it. */
export function shownDefault({ default: value }: Option): string {
  const text = Array.isArray(value) ? value.join(",") : String(value);
  return text === "" ? "none" : text;
}

function defaultOf(option: Option): string {
  const shown = shownDefault(option);
  return shown === "none" ? shown : `\`${shown}\``;
}

function flagOf(option: Option): string {
  return option.kind === "yes/no" ? `\`--${option.flag}\`, \`--no-${option.flag}\`` : `\`--${option.flag}\``;
}
