// Task `--story FILE`: plays a saved plan and compares it with the recorded result.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Terminal } from "../../../src/cli/common/terminal.ts";
import { playStory } from "../../stories/play.ts";
import { readStory, textFileOf } from "../../stories/story-file.ts";
import type { Arguments } from "../arguments.ts";
import { headerOf, scriptOf } from "./plan-text.ts";

/** Longer scripts are not readable. */
const MOST_SCRIPT_LINES = 60;

/** Returns 0 only if the result is the recorded one. */
export async function runStory({ story: file = "", update, verbose }: Arguments, terminal: Terminal): Promise<number> {
  const story = readStory(file);
  const { text, problems } = await playStory(story, verbose && !update ? "everything" : "coarsely");
  const wrong = [...problems];
  const textFile = textFileOf(file);
  if (update) {
    writeFileSync(textFile, text);
    terminal.errLine(`written: ${textFile}`);
  } else {
    const script = scriptOf(story.plan);
    for (const line of headerOf(story.plan)) terminal.line(line);
    if (script.length <= MOST_SCRIPT_LINES) terminal.line(`\n${script.join("\n")}`);
    terminal.line(`\n${text}`);
    if (!verbose && existsSync(textFile)) wrong.push(...difference(readFileSync(textFile, "utf8"), text));
  }
  for (const problem of wrong) terminal.line(terminal.paint("red", problem));
  if (wrong.length === 0) terminal.line(terminal.paint("green", "as expected"));
  return wrong.length === 0 ? 0 : 1;
}

/** The first line that differs. */
function difference(expected: string, played: string): string[] {
  const [before, now] = [expected.split("\n"), played.split("\n")];
  const at = now.findIndex((line, i) => line !== before[i]);
  if (at < 0 && now.length === before.length) return [];
  const line = at < 0 ? now.length : at;
  return [
    `the story differs from line ${line + 1} on (--update if it should):`,
    `- ${before[line] ?? "(the end)"}`,
    `+ ${now[line] ?? "(the end)"}`,
  ];
}
