// Checks that no host logs an error: every expected event is at most a warning, so an error in the log is a
// bug.
import { showLine } from "../../../src/world/story.ts";
import type { CheckerKind } from "../checker.ts";

export const quietLog: CheckerKind = {
  name: "quiet log",
  rule: "no host logs an error, under any fault",
  make(_stage, report) {
    return {
      logged(line) {
        if (line.level === "error" && line.who !== "") report(showLine(line).trim());
      },
    };
  },
};
