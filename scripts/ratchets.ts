// Prints how far the code is from the house style: one row per rule, and with `--list RULE` each finding.
// `--write` lowers the limits in test/tidy/limits.json to the counts of today; it never raises one.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { excess, LIMITS } from "../test/tidy/limits.ts";
import { findingsByArea, RULES, type Rule, sourceFiles } from "../test/tidy/rules.ts";

const { values } = parseArgs({
  options: { write: { type: "boolean" }, list: { type: "string" }, area: { type: "string" } },
});
const files = sourceFiles();
if (values.list !== undefined) list(values.list, values.area ?? "");
else for (const rule of RULES) console.log(summary(rule));
if (values.write === true) lower();
const tooMany = excess(files);
for (const line of tooMany) console.error(line);
process.exitCode = tooMany.length > 0 ? 1 : 0;

function summary(rule: Rule): string {
  const areas = [...findingsByArea(rule, files).values()];
  const total = areas.reduce((sum, { found }) => sum + found.length, 0);
  const open = areas.reduce((sum, { found, free }) => sum + Math.max(0, found.length - free), 0);
  return `${rule.name.padEnd(44)} ${String(total).padStart(6)}   ${open === 0 ? "final" : `${open} to go`}`;
}

function list(name: string, area: string): void {
  for (const rule of RULES.filter((candidate) => candidate.name.includes(name))) {
    for (const [folder, { found, free }] of findingsByArea(rule, files)) {
      if (!folder.startsWith(area) || found.length === 0) continue;
      console.log(`${rule.name} in ${folder}: ${found.length} (clean at ${free})`);
      for (const finding of found) console.log(`  ${finding}`);
    }
  }
}

function lower(): void {
  const lowered = RULES.map((rule) => {
    const areas = [...findingsByArea(rule, files)]
      .filter(([, { found, free }]) => found.length > free)
      .map(([area, { found }]) => [area, Math.min(found.length, LIMITS[rule.name]?.[area] ?? 0)] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1));
    return [rule.name, Object.fromEntries(areas)] as const;
  });
  const open = Object.fromEntries(lowered.filter(([, areas]) => Object.keys(areas).length > 0));
  writeFileSync(join(import.meta.dirname, "../test/tidy/limits.json"), `${JSON.stringify(open, null, 2)}\n`);
}
