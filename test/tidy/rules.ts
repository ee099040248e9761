// Counts breaches of the house style, per rule and folder. `scripts/ratchets.ts` prints the counts, and
// `test/tidy.test.ts` compares them with the limits in `limits.json`, which may only fall.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ModuleGraph, moduleOf } from "../../scripts/module-graph.ts";
import { MAY_IMPORT } from "./modules.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Findings of one rule, as lines for a reader: `path:line: text`. */
export type Findings = readonly string[];

interface SourceFile {
  readonly path: string;
  readonly lines: readonly string[];
  readonly isTest: boolean;
}

export interface Rule {
  readonly name: string;
  /** Advice for the author of a change that breaks the rule, in one sentence. */
  readonly advice: string;
  readonly find: (files: readonly SourceFile[]) => Findings;
  /** How many findings a folder may have when it is clean; none if left out. */
  readonly allowance?: (files: readonly SourceFile[]) => number;
}

const COMMENT = /^\s*(?:\/\/|\*|\/\*)/;
const VAGUE =
  /\b(?:who|whoever|whom|whose|what|whatever|those|somebody|nobody|everybody|anybody|told|tell|tells|said|says|say|heard|hear|hears)\b/gi;
const VAGUE_PER_COMMENT_LINE = 0.1;
const COMMENT_COLUMNS = 110;
const FILE_LINES = 400;
const TEST_FILE_LINES = 600;
const FUNCTION_LINES = 70;
const FOLDER_FILES = 20;

const HEADER_QUESTION = /^(?:What|How|Who|Which|Whether|Where|Whose)\b/;

/** Words that can begin no sentence with a subject. */
const FRAGMENT =
  /^(?:that|of|whose|what|who|which|whoever|whom|whatever|whichever|is|are|was|were|has|have|had|does|do|did|may|can|cannot|must|will|and|or|nor|but|because|never)\b/;
/** Verbs that begin a title only when its subject is missing. */
const VERB =
  /^(?:accept|admit|agree|allow|arrive|ask|avoid|become|begin|behave|believe|belong|blame|bring|build|cancel|carr(?:y|ie)|close|come|commit|compare|concern|confirm|continue|cut|decide|deliver|differ|double|draw|drop|end|exclude|excuse|explain|export|fail|find|fit|follow|forbid|forget|gather|get|give|go|grant|grow|hang|happen|hear|help|hold|import|keep|know|lead|learn|leave|let|list|live|look|lose|make|match|mean|move|need|notice|offer|open|overtake|park|pass|pick|prefer|prove|put|quote|raise|reach|read|recover|refuse|reject|release|remember|repeat|replace|rest|return|run|say|see|sell|send|serve|set|settle|show|skip|sleep|spare|speak|start|stay|stop|succeed|suggest|take|tell|throw|tr(?:y|ie)|understand|use|wait|wake|want|weigh|write)(?:s|es)?\b(?! (?:of|in|to|that|with|from|are|is|have|has|do|does|may|can|cannot)\b)/;
/** Words that are nouns as well: verbs only in front of an object. */
const VERB_WITH_OBJECT =
  /^(?:answer|block|call|cancel|change|claim|cost|count|delay|filter|hand|link|lock|log|mark|move|name|number|order|page|pause|print|record|report|rule|run|share|shard|start|stop|store|sum|turn|work)s? (?:an?|the|its?|every|each|no|nothing|all|only|them|this|one|what|who|how|where|which|whether|that|both|many|two|for|on|to|by|over|through|as|when|again|until)\b/;

const TITLE = /^\s*(?:await )?(?:it|test)\(\s*["`]([^"`]*)/;
const FUNCTION_START =
  /^(\s*)(?:(?:export |default |async |static |private |override |get |set )*(?:function\b|#?\w+\s*(?:<[^>]*>)?\().*\{|.*(?:=>|\bfunction\b[^{]*) \{)$/;
const EXPORTED = /^export (?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type) (\w+)/;
const EVENT = /\b(?:log|logger)\??\.(?:debug|info|warn|error)\(\s*(?:"([^"]*)"|`([^`]*)`)/g;
const EVENT_NAME = /^[a-z]+(?:\.[a-z-]+)+$/;

/** Names that several files may export, each with its own meaning in its folder. */
const SHARED_NAMES: ReadonlySet<string> = new Set([]);

/** Every source file below the folders of the project, without generated code and fixtures. */
export function sourceFiles(): SourceFile[] {
  return globSync("{src,sim,test,bench}/**/*.ts", { cwd: ROOT, exclude: ["**/node_modules/**", "**/gen/**"] })
    .map((path) => path.replaceAll("\\", "/"))
    .sort()
    .map((path) => ({
      path,
      lines: readFileSync(join(ROOT, path), "utf8").split("\n"),
      isTest: /\.(?:test|contract)\.ts$/.test(path) || path.includes("/contract/") || path.startsWith("test/"),
    }));
}

/** The folder that a file is counted under: two levels below src, one elsewhere. */
function areaOf(path: string): string {
  const parts = path.split("/").slice(0, -1);
  return parts.slice(0, parts[0] === "src" ? 2 : 1).join("/");
}

const eachLine = (files: readonly SourceFile[], find: (line: string) => readonly string[]): string[] =>
  files.flatMap(({ path, lines }) =>
    lines.flatMap((line, index) => find(line).map((text) => `${path}:${index + 1}: ${text}`)),
  );

const commentLines = (files: readonly SourceFile[]): number =>
  files.reduce((sum, { lines }) => sum + lines.filter((line) => COMMENT.test(line)).length, 0);

const isFragment = (title: string): boolean => FRAGMENT.test(title) || VERB.test(title) || VERB_WITH_OBJECT.test(title);

/** Formatted code closes a function with a bracket in the column where the function begins. */
function longFunctions({ path, lines, isTest }: SourceFile): string[] {
  if (isTest) return [];
  return lines.flatMap((line, index) => {
    const indent = FUNCTION_START.exec(line)?.[1] ?? (FUNCTION_START.test(line) ? /^\s*/.exec(line)![0] : undefined);
    if (indent === undefined || /^\s*(?:if|for|while|switch|catch|\} else)\b/.test(line)) return [];
    const end = lines.findIndex((other, at) => at > index && other.startsWith(`${indent}}`));
    const length = end - index + 1;
    return length > FUNCTION_LINES ? [`${path}:${index + 1}: ${length} lines`] : [];
  });
}

function longFiles({ path, lines, isTest }: SourceFile): string[] {
  const length = lines.length - 1;
  return length > (isTest ? TEST_FILE_LINES : FILE_LINES) ? [`${path}: ${length} lines`] : [];
}

function fullFolders(files: readonly SourceFile[]): string[] {
  const counts = new Map<string, number>();
  for (const { path, isTest } of files) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    if (!isTest) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > FOLDER_FILES).map(([folder, count]) => `${folder}: ${count} files`);
}

function namesExportedTwice(files: readonly SourceFile[]): string[] {
  const homes = new Map<string, Set<string>>();
  for (const { path, lines, isTest } of files) {
    if (isTest || !path.startsWith("src/")) continue;
    for (const line of lines) {
      const name = EXPORTED.exec(line)?.[1];
      if (name !== undefined && !SHARED_NAMES.has(name)) homes.set(name, (homes.get(name) ?? new Set()).add(path));
    }
  }
  return [...homes].filter(([, paths]) => paths.size > 1).map(([name, paths]) => `${name}: ${[...paths].join(", ")}`);
}

function oddEvents({ path, lines, isTest }: SourceFile): string[] {
  if (isTest || !path.startsWith("src/")) return [];
  return [...lines.join("\n").matchAll(EVENT)]
    .map(([, plain, template]) => plain ?? template!)
    .filter((event) => !EVENT_NAME.test(event))
    .map((event) => `${path}: ${event}`);
}

function importsAgainstTheLayers(files: readonly SourceFile[]): string[] {
  const graph = new ModuleGraph(ROOT);
  return files
    .filter(({ path, isTest }) => !isTest && path.startsWith("src/"))
    .flatMap(({ path }) => graph.importsOf(path).map((imported) => ({ path, imported })))
    .filter(({ path, imported }) => {
      const [from, to] = [moduleOf(path), moduleOf(imported)];
      const leavesModel = path.includes("/model/") && from === to && !imported.includes("/model/");
      return leavesModel || (from !== to && !MAY_IMPORT[from]!.includes(to));
    })
    .map(({ path, imported }) => `${path} imports ${imported}`);
}

export const RULES: readonly Rule[] = [
  {
    name: "vague words in comments",
    advice: "name the component and the protocol step; at most one such word per ten comment lines",
    find: (files) => eachLine(files, (line) => (COMMENT.test(line) ? (line.match(VAGUE) ?? []) : [])),
    allowance: (files) => Math.max(0, Math.ceil(commentLines(files) * VAGUE_PER_COMMENT_LINE) - 1),
  },
  {
    name: "test titles without a subject",
    advice: "write the title as a whole sentence that begins with its subject",
    find: (files) =>
      eachLine(files, (line) => {
        const title = TITLE.exec(line)?.[1];
        return title !== undefined && isFragment(title) ? [title] : [];
      }),
  },
  {
    name: "headers that begin with a question word",
    advice: "begin the header of a file with a noun or a verb",
    find: (files) =>
      files.flatMap(({ path, lines }) => {
        const first = lines[0]!.startsWith("#!") ? lines[1]! : lines[0]!;
        const text = first.replace(/^[\s/*]+/, "");
        return COMMENT.test(first) && HEADER_QUESTION.test(text) ? [`${path}: ${text}`] : [];
      }),
  },
  {
    name: "comment lines above 110 columns",
    advice: "wrap the comment at 110 columns",
    find: (files) =>
      eachLine(files, (line) =>
        COMMENT.test(line) && line.length > COMMENT_COLUMNS ? [`${line.length} columns`] : [],
      ),
  },
  { name: "long files", advice: "split the file: 400 lines, tests 600", find: (files) => files.flatMap(longFiles) },
  { name: "long functions", advice: "split the function: 70 lines", find: (files) => files.flatMap(longFunctions) },
  { name: "full folders", advice: "split the folder: 20 source files", find: fullFolders },
  {
    name: "names exported twice",
    advice: "choose another name, or export it from one file",
    find: namesExportedTwice,
  },
  {
    name: "imports against the layers",
    advice: "import the port, or move the file to the module that uses it; see test/tidy/modules.ts",
    find: importsAgainstTheLayers,
  },
  {
    name: "literals spread into literals",
    advice: "write the fields of the inner literal into the outer one",
    find: (files) => eachLine(files, (line) => line.match(/\.\.\.\{/g) ?? []),
  },
  {
    name: "optional fields with undefined",
    advice: "write `x?: T`, which already allows undefined; see docs/decisions/0029-optional-fields.md",
    find: (files) =>
      eachLine(files, (line) => line.match(/^\s*(?:readonly )?\w+\?: (?!.*=>).*\| undefined[;,]?$/g) ?? []),
  },
  {
    name: "log events that are sentences",
    advice: "name the event like `lease.lost`, and put the rest into fields",
    find: (files) => files.flatMap(oddEvents),
  },
];

/** Findings by rule and area. Rules that compare files see the whole project at once. */
export function findingsByArea(
  rule: Rule,
  files: readonly SourceFile[],
): Map<string, { found: Findings; free: number }> {
  const byArea = Map.groupBy(files, ({ path }) => areaOf(path));
  const result = new Map<string, { found: Findings; free: number }>();
  if (rule.find === namesExportedTwice) return result.set("src", { found: rule.find(files), free: 0 });
  for (const [area, own] of byArea) result.set(area, { found: rule.find(own), free: rule.allowance?.(own) ?? 0 });
  return result;
}
