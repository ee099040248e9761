// Reads the import statements of the repository. The repository rules (test/tidy.test.ts), the picture of the
// modules (deps.ts) and the choice of unit tests (unit-tests.ts) share it. It reads files and never runs
// them.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

export const ROOT = join(import.meta.dirname, "..");

/** A module is a folder directly below src/. The files beside these folders are the entry points. */
export const moduleOf = (path: string): string => /^src\/([^/]+)\//.exec(path)?.[1] ?? "entry";

/** Type imports count as well. */
const SPECIFIER = /(?:from|import)\s*\(?\s*"([^"\s]+)"/g;

interface Imports {
  readonly files: readonly string[];
  readonly packages: readonly string[];
}

/** All paths are relative to the root, with forward slashes. */
export class ModuleGraph {
  readonly #root: string;
  readonly #imports = new Map<string, Imports>();
  /** The entry points of the package, by the name that other files import. */
  readonly #entries: ReadonlyMap<string, string>;

  constructor(root: string = ROOT) {
    this.#root = root;
    this.#entries = entriesOf(root);
  }

  textOf(path: string): string {
    return readFileSync(join(this.#root, path), "utf8");
  }

  /** The files that a file imports by a relative path. */
  importsOf(path: string): readonly string[] {
    return this.#of(path).files;
  }

  /** The packages, and the modules of Node.js, that a file imports. */
  packagesOf(path: string): readonly string[] {
    return this.#of(path).packages;
  }

  /** The file itself and every file that it imports, directly or through others. */
  reach(path: string): ReadonlySet<string> {
    const reached = new Set([path]);
    for (const file of reached) {
      const own = this.packagesOf(file).flatMap((name) => this.#entries.get(name) ?? []);
      for (const next of [...this.importsOf(file), ...own]) reached.add(next);
    }
    return reached;
  }

  #of(path: string): Imports {
    const known = this.#imports.get(path);
    if (known !== undefined) return known;
    // A path in a text, such as a fixture inside of a test, may look like an import.
    const text = existsSync(join(this.#root, path)) ? this.textOf(path) : "";
    const specifiers = [...text.matchAll(SPECIFIER)].map(([, specifier]) => specifier!);
    const imports = {
      files: specifiers.filter(isRelative).map((name) => slashed(normalize(join(dirname(path), name)))),
      packages: specifiers.filter((name) => !isRelative(name)),
    };
    this.#imports.set(path, imports);
    return imports;
  }
}

const isRelative = (specifier: string): boolean => /^\.{1,2}\//.test(specifier);

export const slashed = (path: string): string => path.replaceAll("\\", "/");

function entriesOf(root: string): Map<string, string> {
  const file = join(root, "package.json");
  if (!existsSync(file)) return new Map();
  const { name, exports } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly name: string;
    readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  };
  const sources = Object.entries(exports ?? {}).flatMap(([key, target]) => {
    const source = typeof target === "string" ? undefined : target["limpet-source"];
    return source === undefined ? [] : [[`${name}${key.slice(1)}`, slashed(normalize(source))] as const];
  });
  return new Map(sources);
}
