// How good the simulator is: every known bug is put back, one at a time, and seeds are run until it is found. A bug that is not
// found is a kind of bug that the simulator would let pass.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Bug } from "./bugs/bug.ts";
import { Crew } from "./command/crew.ts";
import type { Worker } from "./command/job.ts";

/** A bug, and what became of it. */
export interface Finding {
  readonly bug: Bug;
  /** Seeds that were run. */
  readonly seeds: number;
  /** Undefined: nobody has noticed it. */
  readonly found: { readonly seed: number; readonly checker: string; readonly what: string } | undefined;
}

export interface SearchOptions {
  readonly from: number;
  readonly limit: number;
  /** Bugs that are looked for at the same time. */
  readonly jobs: number;
  readonly isOver: () => boolean;
  readonly onFinding: (finding: Finding) => void;
}

/** In the order of the bugs. Ends early, with what there is, when it is over. */
export async function search(bugs: readonly Bug[], options: SearchOptions): Promise<Finding[]> {
  const findings = new Map<Bug, Finding>();
  const rest = [...bugs];
  const healthy = new Crew({ jobs: options.jobs });
  const oneAfterTheOther = async (): Promise<void> => {
    for (let bug = rest.shift(); bug !== undefined && !options.isOver(); bug = rest.shift()) {
      const finding = await searchOne(bug, healthy, options);
      findings.set(bug, finding);
      options.onFinding(finding);
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, oneAfterTheOther));
  healthy.close();
  return bugs.flatMap((bug) => findings.get(bug) ?? []);
}

async function searchOne(bug: Bug, healthy: Worker, { from, limit, isOver }: SearchOptions): Promise<Finding> {
  const crew = new Crew({ jobs: 1, bug: bug.name });
  try {
    let seeds = 0;
    while (seeds < limit && !isOver()) {
      const job = { seed: from + seeds++, once: true };
      const [violation] = (await crew.perform(job)).violations;
      // What is broken without the bug as well says nothing about the bug.
      if (violation === undefined || (await healthy.perform(job)).violations.length > 0) continue;
      return { bug, seeds, found: { seed: job.seed, checker: violation.checker, what: violation.what } };
    }
    return { bug, seeds, found: undefined };
  } finally {
    crew.close();
  }
}

// ——— The table.

/** As markdown: one row for each bug, in the order of the catalogue. */
export function tableOf(findings: readonly Finding[]): string {
  const rows = findings.map(({ bug, seeds, found }) => {
    const when = found === undefined ? `not in ${seeds}` : `${seeds}`;
    return [`\`${bug.name}\``, bug.family, bug.knownFrom, when, found?.checker ?? guardOf(bug)];
  });
  const found = findings.filter((finding) => finding.found !== undefined).length;
  return [
    row(["Bug", "Family", "Known from", "Seeds until found", "Found by"]),
    row(["---", "---", "---", "---:", "---"]),
    ...rows.map(row),
    "",
    `${found} of ${findings.length} found.`,
  ].join("\n");
}

/** The unit test that guards against a bug no seed has found. */
const guardOf = ({ guard }: Bug): string => (guard === undefined ? "–" : `\`${guard}\``);

const row = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

const BEGIN = "<!-- begin of the table of bugs: npm run sim -- --bugs --write -->";
const END = "<!-- end of the table of bugs -->";

/** The text with the table between its markers. A text without them gets them at its end. */
export function withTable(text: string, table: string): string {
  const block = `${BEGIN}\n\n${table}\n\n${END}`;
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) return `${text.trimEnd()}${text.trim() === "" ? "" : "\n\n"}${block}\n`;
  return text.slice(0, begin) + block + text.slice(end + END.length);
}

const DOCUMENT = join(import.meta.dirname, "../docs/simulation.md");

export function writeTable(table: string): string {
  let text: string;
  try {
    text = readFileSync(DOCUMENT, "utf8");
  } catch {
    text = "# Simulation\n";
  }
  writeFileSync(DOCUMENT, withTable(text, table));
  return "docs/simulation.md";
}
