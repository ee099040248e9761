// Task `--bugs`: measures how many seeds it takes to find each known bug.
import type { Terminal } from "../../src/cli/common/terminal.ts";
import { BUGS, bugNamed } from "../bugs/catalogue.ts";
import { type Finding, search, tableOf, writeTable } from "../strength.ts";
import type { Arguments } from "./arguments.ts";
import { Interrupt } from "./interrupt.ts";
import { Progress } from "./progress.ts";

/** Fixed, so that every search tries the same seeds. */
const FIRST_SEED = 1;

/** Returns 0 only if every bug was found. */
export async function bugTable(options: Arguments, terminal: Terminal): Promise<number> {
  const { from = FIRST_SEED, limit, jobs, bug, write } = options;
  const bugs = bug === undefined ? BUGS : [bugNamed(bug)!];
  const done: Finding[] = [];
  const progress = new Progress(process.stderr, () => {
    const found = done.filter((finding) => finding.found !== undefined).length;
    return `${done.length} of ${bugs.length} bugs looked for, ${found} found`;
  });
  const print = (line: string): void => {
    progress.clear();
    terminal.errLine(line);
  };
  const interrupt = new Interrupt(print);
  const findings = await search(bugs, {
    from,
    limit,
    jobs,
    isOver: () => interrupt.isAsked,
    onFinding: (finding) => {
      done.push(finding);
      print(showFinding(finding));
    },
  });
  progress.end();
  interrupt.end();
  const table = tableOf(findings);
  terminal.line(table);
  if (interrupt.isAsked) return 130;
  if (write) terminal.errLine(`written into ${writeTable(table)}`);
  return findings.every(({ found }) => found !== undefined) ? 0 : 1;
}

function showFinding({ bug, seeds, found }: Finding): string {
  if (found === undefined) return `${bug.name}: not found in ${seeds} seeds`;
  return `${bug.name}: seed ${found.seed}, ${found.checker}: ${found.what.split("\n")[0]}`;
}
