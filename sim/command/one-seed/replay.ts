// Runs one seed and prints its story.
import type { Terminal } from "../../../src/cli/common/terminal.ts";
import { showLine } from "../../../src/world/story.ts";
import type { Stage } from "../../stage.ts";
import type { Arguments } from "../arguments.ts";
import { circumstances } from "../circumstances.ts";
import { failureText } from "../failures.ts";
import type { Job, Report } from "../job.ts";
import { Figures } from "../many-seeds/figures.ts";
import { jsonOf } from "../many-seeds/summary.ts";
import { perform } from "../perform.ts";
import { planOf } from "../plan-of.ts";
import { headerOf } from "./plan-text.ts";

export async function replay(options: Arguments, terminal: Terminal): Promise<number> {
  const { seed = 0, hosts, once, verbose, json } = options;
  const job = { seed, hosts, once };
  const figures = new Figures();
  const report = json ? await perform(job) : await printRun(job, terminal, verbose);
  figures.add(report);
  const failed = report.violations.length > 0;
  if (json) {
    terminal.json(jsonOf(figures, seed, failed ? [report] : [], options, circumstances()));
  } else {
    const faults = Object.entries(report.faults).map(([name, count]) => `${name} ${count}`);
    terminal.line();
    terminal.line(
      `${(report.simulatedMs / 1_000).toFixed(1)} s simulated, ${report.steps} steps, ${report.operations} calls, trace ${report.trace}`,
    );
    terminal.line(`faults: ${faults.join(", ") || "none"}`);
    terminal.line(`coverage: ${[...report.reached].sort().join(", ") || "none"}`);
    terminal.line(
      failed
        ? failureText(report, options, circumstances(), terminal.paint)
        : terminal.paint("green", "every rule held"),
    );
  }
  return failed ? 1 : 0;
}

/** Runs the job, and prints events of the first run as they occur. */
function printRun(job: Job, terminal: Terminal, verbose: boolean): Promise<Report> {
  for (const line of headerOf(planOf(job))) terminal.line(line);
  terminal.line();
  let first: Stage | undefined;
  return perform(job, (stage) => {
    first ??= stage;
    stage.observers.push({
      logged: (line) => {
        if (stage !== first || (line.level === "debug" && !verbose)) return;
        const tint = line.level === "error" ? "red" : line.event.startsWith("⚡") ? "yellow" : "dim";
        terminal.line(line.level === "info" ? showLine(line) : terminal.paint(tint, showLine(line)));
      },
    });
  });
}
