import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { playStory } from "./stories/play.ts";
import { readStory, textFileOf } from "./stories/story-file.ts";

const files = globSync("stories/*.json", { cwd: import.meta.dirname }).sort();

describe("recorded stories", () => {
  it("there are recorded stories", () => {
    assert.ok(files.length >= 3);
  });

  for (const name of files) {
    const file = join(import.meta.dirname, name);
    const story = readStory(file);
    it(`${name}: ${story.title}`, async () => {
      const { text, problems } = await playStory(story);
      assert.deepEqual(problems, []);
      assert.equal(text, readFileSync(textFileOf(file), "utf8"), "update it with --story FILE --update");
    });
  }
});
