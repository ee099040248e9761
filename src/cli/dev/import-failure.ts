// Explains to a developer why a module could not be loaded: the file, the line, and the correction.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isLimpetError } from "../../kernel/errors.ts";
import { Failure } from "../common/failure.ts";
import { loadedFiles } from "./loaded-files.ts";

export function importFailure(error: unknown, file: string, cwd: string): Failure {
  const shown = relative(cwd, file);
  const failed = (message: string, hint?: string) => new Failure("MODULE_INVALID", message, { hint, cause: error });
  if (!(error instanceof Error)) return failed(`${shown} threw ${describe(error)} while it was loaded`);
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ERR_MODULE_NOT_FOUND") return missingImport(error, cwd);
  if (error.name === "SyntaxError") {
    const frame = syntaxFrame(error, cwd);
    return failed(
      `${frame?.place ?? shown} is not valid: ${error.message}${frame?.text ?? ""}`,
      syntaxHint(error, code),
    );
  }
  const place = firstOwnFrame(error, cwd);
  const at = place === undefined ? "" : ` (at ${place})`;
  const name = isLimpetError(error) || error.name === "Error" ? "" : `${error.name}: `;
  return failed(`${shown} failed while it was loaded: ${name}${error.message}${at}`);
}

function describe(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : `a value of type ${typeof value}`;
}

function syntaxHint(error: Error, code: string | undefined): string | undefined {
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") {
    return "Node runs TypeScript by leaving out the types, so enums, namespaces, decorators and parameter properties do not work.";
  }
  return /does not provide an export named/.test(error.message)
    ? "If it is a type, import it with: import type { … }"
    : undefined;
}

interface Frame {
  /** `app.ts:3` */
  readonly place: string;
  /** The line and a mark under the position, ready to append. */
  readonly text: string;
}

/** Node usually puts file, line and a mark before the error; otherwise the file is checked again. */
function syntaxFrame(error: Error, cwd: string): Frame | undefined {
  const named = parseFrame(String(error.stack), cwd);
  const last = loadedFiles().at(-1);
  return named ?? (last === undefined ? undefined : checkAgain(last, cwd));
}

function parseFrame(stack: string, cwd: string, file?: string): Frame | undefined {
  const head = /^(.+):(\d+)\n([\s\S]*?)\n\s*\w*Error/.exec(stack);
  if (head === null) return undefined;
  const [, path, line, text] = head as unknown as [string, string, string, string];
  const lines = text.trimEnd().split("\n");
  return {
    place: `${shownPath(file ?? path, cwd)}:${line}`,
    text: `\n\n${lines.map((each) => `    ${each}`).join("\n")}\n`,
  };
}

function checkAgain(file: string, cwd: string): Frame | undefined {
  try {
    const source = readFileSync(file, "utf8");
    const input = /\.[cm]?ts$/.test(file) ? stripTypeScriptTypes(source) : source;
    const check = spawnSync(process.execPath, ["--check", "--input-type=module", "-"], { input, encoding: "utf8" });
    return parseFrame(check.stderr, cwd, file) ?? { place: shownPath(file, cwd), text: "" };
  } catch {
    return { place: shownPath(file, cwd), text: "" };
  }
}

/** `Cannot find module '/a/cart' imported from /a/app.ts`, or `Cannot find package 'x' imported from …`. */
function missingImport(error: Error, cwd: string): Failure {
  const parts = /^Cannot find (module|package) '([^']+)' imported from (.+)$/s.exec(error.message.split("\n")[0]!);
  const failed = (message: string, hint?: string) => new Failure("MODULE_INVALID", message, { hint, cause: error });
  if (parts === null) return failed(error.message);
  const [, kind, wanted, importer] = parts as unknown as [string, "module" | "package", string, string];
  const by = shownPath(importer, cwd);
  if (kind === "package" && !isAbsolute(wanted)) {
    return failed(
      `${by} imports the package ${wanted}, which is not installed`,
      `Install it with: npm install ${wanted}`,
    );
  }
  const from = dirname(resolve(cwd, by));
  const specifier = relativeSpecifier(from, wanted);
  const real = [`${wanted}.ts`, wanted.replace(/\.js$/, ".ts"), `${wanted}/index.ts`, `${wanted}.js`].find(
    (candidate) => {
      return candidate !== wanted && existsSync(candidate);
    },
  );
  const hint =
    real === undefined ? undefined : `Imports name the file as it is on the disk: ${relativeSpecifier(from, real)}`;
  return failed(`${by} imports ${specifier}, which does not exist`, hint);
}

function relativeSpecifier(from: string, path: string): string {
  const short = relative(from, path);
  return short.startsWith(".") ? short : `./${short}`;
}

/** The topmost line of the stack that is not Node's and not a dependency's. */
export function firstOwnFrame(error: Error, cwd: string): string | undefined {
  for (const line of String(error.stack).split("\n")) {
    const place = /\(?((?:file:\/\/)?\/[^()]+:\d+:\d+)\)?$/.exec(line.trim())?.[1];
    if (place === undefined || place.includes("/node_modules/")) continue;
    return shownPath(place, cwd);
  }
  return undefined;
}

export function shownPath(place: string, cwd: string): string {
  const path = place.startsWith("file:") ? fileURLToPath(place) : place;
  const short = relative(cwd, path);
  return short.length < path.length ? short : path;
}
