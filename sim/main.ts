// Entry of `npm run sim`: runs seeds of the simulator and reports violated rules. Its options are in
// command/arguments.ts.
import { fileURLToPath } from "node:url";
import { Terminal } from "../src/cli/common/terminal.ts";
import { type Arguments, HELP, parseArguments, UsageError } from "./command/arguments.ts";
import { bugTable } from "./command/bug-table.ts";
import { manySeeds } from "./command/many-seeds/many-seeds.ts";
import { replay } from "./command/one-seed/replay.ts";
import { runStory } from "./command/one-seed/run-story.ts";
import { shrinkSeed } from "./command/one-seed/shrink-seed.ts";
import { againWithBug, hasBug } from "./command/with-bug.ts";
import { StoryError } from "./stories/story-file.ts";

const terminal = new Terminal(process.stdout, process.stderr, process.env);
process.exitCode = await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<number> {
  try {
    const options = parseArguments(words);
    const { bug } = options;
    if (bug !== undefined && options.task !== "bugs" && !hasBug(bug)) {
      return await againWithBug(bug, fileURLToPath(import.meta.url), words);
    }
    return await perform(options);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof StoryError)) throw error;
    terminal.errLine(error.message);
    return 2;
  }
}

async function perform(options: Arguments): Promise<number> {
  switch (options.task) {
    case "help":
      terminal.line(HELP.trimEnd());
      return 0;
    case "seeds":
    case "soak":
      return manySeeds(options, terminal);
    case "replay":
      return replay(options, terminal);
    case "bugs":
      return bugTable(options, terminal);
    case "shrink":
      return shrinkSeed(options, terminal);
    case "story":
      return runStory(options, terminal);
  }
}
