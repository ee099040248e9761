// Nothing that is expected to happen is an error to a host. What it logs as one is a bug, or should have been a warning.
import { showLine } from "../../src/world/story.ts";
import type { CheckerKind } from "./checker.ts";

export const quietLog: CheckerKind = {
  name: "quiet log",
  rule: "no host logs an error, whatever happens around it",
  make(_stage, report) {
    return {
      told(line) {
        if (line.level === "error" && line.who !== "") report(showLine(line).trim());
      },
    };
  },
};
