// Measures the simulator: puts back every known bug, one at a time, and runs seeds until one finds it. A bug
// that is not found shows a kind of bug that the simulator would miss.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Bug } from "./bugs/bug.ts";
import type { Worker } from "./command/job.ts";
import { Crew } from "./command/many-seeds/crew.ts";

/** The outcome of the search for one bug. */
export interface Finding {
  readonly bug: Bug;
  /** Number of seeds that were run. */
  readonly seeds: number;
  /** Undefined if no seed found the bug. */
  readonly found: { readonly seed: number; readonly checker: string; readonly what: string } | undefined;
}

export interface SearchOptions {
  readonly from: number;
  readonly limit: number;
  /** Number of concurrent searches. */
  readonly jobs: number;
  readonly isOver: () => boolean;
  readonly onFinding: (finding: Finding) => void;
}

/** Returns findings in the order of the bugs. Returns early with partial results when `isOver`. */
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
      // A violation that occurs without the bug as well is not evidence of the bug.
      if (violation === undefined || (await healthy.perform(job)).violations.length > 0) continue;
      return { bug, seeds, found: { seed: job.seed, checker: violation.checker, what: violation.what } };
    }
    return { bug, seeds, found: undefined };
  } finally {
    crew.close();
  }
}

// ——— The table.

/** Markdown with one row for each bug, in the order of the catalogue. */
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

/** Returns the text with the table between its markers. A text without markers gets them at its end. */
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
