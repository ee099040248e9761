// Builds the help from the definitions of the commands. Pure.

import { OPTIONS, SETTING_KEYS } from "../../config/options.ts";
import { kindOf, shownDefault } from "../../config/options-table.ts";
import { columns } from "../common/columns.ts";
import { type CliCommand, COMMON_FLAGS, type Flag, usageOf } from "../common/command.ts";
import type { Paint } from "../common/terminal.ts";
import type { ListedCommand } from "../registry.ts";

export function overview(commands: readonly ListedCommand[], version: string, paint: Paint): string {
  const rows = commands.map(({ name, summary }) => [paint("cyan", name), summary]);
  return [
    `${paint("bold", "limpet")} ${version}: virtual actors and durable workflows that stay where they are`,
    "",
    ...section("Usage", ["limpet <command> [options]"], paint),
    ...section("Commands", columns([{}, {}], rows), paint),
    ...section("First steps", ["limpet dev app.ts", "limpet call Cart alice add '\"tea\"'"], paint),
    "limpet <command> --help explains a command, limpet help options lists all settings.",
  ].join("\n");
}

export function commandHelp(command: CliCommand, paint: Paint): string {
  const args = command.arguments.map(({ name, help }) => [paint("cyan", `<${name}>`), help]);
  return [
    `${paint("bold", `limpet ${command.name}`)}: ${command.summary}`,
    "",
    ...section("Usage", [usageOf(command)], paint),
    ...(command.about === undefined ? [] : [command.about, ""]),
    ...section("Arguments", columns([{}, {}], args), paint),
    ...section("Options", flagRows([...command.flags, ...COMMON_FLAGS], paint), paint),
    ...section("Settings", flagRows(command.settings ?? [], paint), paint),
    ...section("Examples", command.examples, paint),
  ]
    .join("\n")
    .trimEnd();
}

export function optionsHelp(paint: Paint): string {
  const entries = SETTING_KEYS.flatMap((key) => {
    const option = OPTIONS[key];
    const flag = option.kind === "yes/no" ? `--${option.flag}, --no-${option.flag}` : `--${option.flag}`;
    return [
      `${paint("cyan", option.path)}  ${paint("dim", `(${kindOf(option)}; default ${shownDefault(option)})`)}`,
      `  ${option.help}`,
      `  ${option.breaks}`,
      `  ${paint("dim", `${flag}   ${option.env}`)}`,
      "",
    ];
  });
  return [
    `${paint("bold", "Settings")}`,
    "",
    "They come from code, limpet.yaml, the environment and flags; later sources override earlier ones.",
    "",
    ...entries,
    "limpet doctor shows the values here, and their sources.",
  ].join("\n");
}

function section(title: string, lines: readonly string[], paint: Paint): string[] {
  return lines.length === 0 ? [] : [paint("bold", title), ...lines.map((line) => `  ${line}`), ""];
}

function flagRows(flags: readonly Flag[], paint: Paint): string[] {
  const rows = flags.map((flag) => {
    const short = flag.short === undefined ? "" : `-${flag.short}, `;
    const no = flag.kind === "yes/no" ? `, --no-${flag.name}` : "";
    const value = flag.placeholder === undefined ? "" : ` <${flag.placeholder}>`;
    return [paint("cyan", `${short}--${flag.name}${no}${value}`), flag.help];
  });
  return columns([{}, {}], rows);
}
