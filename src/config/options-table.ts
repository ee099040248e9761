// The table of docs/options.md, made from the options themselves; a test holds the document to it. Pure.

import { OPTIONS, type Option, SETTING_KEYS } from "./options.ts";

export function optionsTable(): string {
  const rows = SETTING_KEYS.map((key) => {
    const option = OPTIONS[key];
    const cells = [`\`${option.path}\``, kindOf(option), defaultOf(option), `\`${option.env}\``, flagOf(option)];
    return [...cells, `${option.help} *${option.breaks}*`].map((cell) => cell.replaceAll("|", "\\|"));
  });
  const head = ["setting", "kind", "default", "environment", "flag", "what it does, *and what breaks*"];
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

/** What may be written, in a few words. */
export function kindOf(option: Option): string {
  if (option.choices !== undefined) return option.choices.join(", ");
  if (option.kind === "whole number" && option.max !== undefined) return `${option.min ?? 0} to ${option.max}`;
  return option.kind;
}

function defaultOf(option: Option): string {
  if (Array.isArray(option.default)) return option.default.length === 0 ? "none" : option.default.join(",");
  return `\`${option.default}\``;
}

function flagOf(option: Option): string {
  return option.kind === "yes/no" ? `\`--${option.flag}\`, \`--no-${option.flag}\`` : `\`--${option.flag}\``;
}
