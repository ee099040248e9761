// limpet help [command | options]

import { OPTIONS, SETTING_KEYS } from "../../config/options.ts";
import { VERSION } from "../../host/version.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import { type CliCommand, flagsOf, usageOf } from "../common/command.ts";
import { EXIT, wrongUsage } from "../common/failure.ts";
import { CLI_COMMANDS } from "../registry.ts";
import { commandHelp, optionsHelp, overview } from "./help-text.ts";

export const helpCommand: CliCommand = {
  name: "help",
  summary: "Show help for a command, or all settings",
  arguments: [{ name: "topic", optional: true, help: 'A command, or "options" for all settings.' }],
  flags: [],
  examples: ["limpet help dev", "limpet help options"],
  async run({ args, json, terminal }) {
    const topic = args[0];
    if (topic === undefined) {
      const commands = CLI_COMMANDS.map(({ name, summary }) => ({ name, summary }));
      if (json) terminal.json({ version: VERSION, commands });
      else terminal.line(overview(CLI_COMMANDS, VERSION, terminal.paint));
      return EXIT.ok;
    }
    if (topic === "options" || topic === "settings") {
      if (json) terminal.json({ settings: SETTING_KEYS.map((key) => ({ key, ...OPTIONS[key] })) });
      else terminal.line(optionsHelp(terminal.paint));
      return EXIT.ok;
    }
    const listed = CLI_COMMANDS.find(({ name }) => name === topic);
    if (listed === undefined) {
      const known = [...CLI_COMMANDS.map(({ name }) => name), "options"];
      throw wrongUsage(
        `${JSON.stringify(topic)} is not a help topic${didYouMean(topic, known)}`,
        `Topics: ${known.join(", ")}`,
      );
    }
    const shown = await listed.load();
    if (json) terminal.json(asData(shown));
    else terminal.line(commandHelp(shown, terminal.paint));
    return EXIT.ok;
  },
};

function asData(shown: CliCommand) {
  const { name, summary, about, examples } = shown;
  return { name, summary, about, usage: usageOf(shown), arguments: shown.arguments, flags: flagsOf(shown), examples };
}
