// Draws the modules of src/ and their imports as a Mermaid flowchart: `npm run deps [-- --all] [-- --out
// FILE]`. An arrow points from a module to a module that it imports, with the number of imports. Tests and
// contract suites are left out.
import { globSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { ModuleGraph, moduleOf, ROOT, slashed } from "./module-graph.ts";

/** The number of imports from one module to another. */
export type Edges = ReadonlyMap<string, ReadonlyMap<string, number>>;

export function edgesOf(paths: readonly string[], graph: ModuleGraph): Edges {
  const edges = new Map<string, Map<string, number>>();
  for (const path of paths) {
    const from = moduleOf(path);
    const targets = edges.get(from) ?? new Map<string, number>();
    edges.set(from, targets);
    for (const to of graph.importsOf(path).map(moduleOf)) {
      if (to !== from) targets.set(to, (targets.get(to) ?? 0) + 1);
    }
  }
  return edges;
}

/** Without the arrows that a longer path implies: A → C is left out where A → B → C exists. */
export function reduced(edges: Edges): Edges {
  const leads = (from: string, to: string, seen = new Set<string>()): boolean =>
    [...(edges.get(from)?.keys() ?? [])].some((next) => {
      if (next === to) return true;
      if (seen.has(next)) return false;
      seen.add(next);
      return leads(next, to, seen);
    });
  const isImplied = (from: string, to: string): boolean =>
    [...edges.get(from)!.keys()].some((next) => next !== to && leads(next, to) && !leads(next, from));
  return new Map(
    [...edges].map(([from, targets]) => [from, new Map([...targets].filter(([to]) => !isImplied(from, to)))]),
  );
}

export function mermaidOf(edges: Edges): string {
  const lines = ["flowchart TD"];
  for (const from of [...edges.keys()].sort()) {
    lines.push(`  ${from}`);
    for (const [to, count] of [...edges.get(from)!].sort(([a], [b]) => (a < b ? -1 : 1))) {
      lines.push(`  ${from} -->|${count}| ${to}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

function main(): void {
  const { values } = parseArgs({ options: { all: { type: "boolean" }, out: { type: "string" } } });
  const paths = globSync("src/**/*.ts", { cwd: ROOT })
    .map(slashed)
    .filter((path) => !/\.(?:test|contract)\.ts$/.test(path) && !/\/(?:gen|contract)\//.test(path));
  const edges = edgesOf(paths, new ModuleGraph());
  const picture = mermaidOf(values.all === true ? edges : reduced(edges));
  if (values.out === undefined) process.stdout.write(picture);
  else writeFileSync(values.out, picture);
}

if (import.meta.main) main();
