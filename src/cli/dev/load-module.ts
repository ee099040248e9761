// Loads a module file and collects its exported actors and workflows. Every error is reported in terms of the
// module.

import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, parse, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isActorClass } from "../../actors/actor-type.ts";
import type { ActorClass } from "../../actors/routing/remote.ts";
import { nearest } from "../../kernel/nearest.ts";
import type { ActivityFunction } from "../../workflows/definition/context.ts";
import type { AnyWorkflow } from "../../workflows/definition/definition.ts";
import { Failure } from "../common/failure.ts";
import { shellWord } from "../common/phrases.ts";
import { importFailure } from "./import-failure.ts";

export interface LoadedModule {
  readonly actors: readonly ActorClass[];
  readonly workflows: readonly AnyWorkflow[];
  readonly activities: Readonly<Record<string, ActivityFunction>>;
  /** Commands that the module itself proposes. */
  readonly tryThese: readonly string[];
}

const USUAL_NAMES = ["app.ts", "index.ts", "main.ts", "app.js", "index.js"];

export function findModule(name: string, cwd: string): string {
  const file = resolve(cwd, name);
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isFile()) return file;
  if (stats?.isDirectory()) {
    const inside = USUAL_NAMES.find((each) => existsSync(join(file, each)));
    throw new Failure("MODULE_INVALID", `${name} is a folder, not a module`, {
      hint: inside && didYouMean(join(name, inside)),
    });
  }
  const near = modulesIn(dirname(file));
  const hit = near.find((each) => parse(each).name === basename(file)) ?? nearest(basename(file), near);
  const hint = hit === undefined ? `Looked in ${dirname(file)}` : didYouMean(join(dirname(name), hit));
  throw new Failure("MODULE_INVALID", `there is no file ${name}`, { hint });
}

const didYouMean = (name: string): string => `Did you mean: limpet dev ${shellWord(name)}`;

function modulesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /\.[cm]?[jt]s$/.test(name) && !name.endsWith(".d.ts"));
  } catch {
    return [];
  }
}

export async function loadModule(file: string, cwd: string): Promise<LoadedModule> {
  const shown = relative(cwd, file);
  let exports: Record<string, unknown>;
  try {
    exports = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    throw importFailure(error, file, cwd);
  }
  const actors = collectActors(exports);
  const workflows = collectWorkflows(allOf(exports), shown);
  const activities = readActivities(exports.activities, shown);
  const isAny = actors.length + workflows.length + Object.keys(activities).length > 0;
  if (!isAny) throw nothingToRun(exports, shown);
  checkNames(actors, shown);
  return { actors, workflows, activities, tryThese: readTryThese(exports.tryThese, shown) };
}

/** Every exported actor class, alone or in an array or object, once. */
export function collectActors(exports: Record<string, unknown>): ActorClass[] {
  const found = new Set<ActorClass>();
  for (const item of allOf(exports)) if (isActorClass(item)) found.add(item);
  return [...found];
}

/** All exports, alone or in an array or object. */
const allOf = (exports: Record<string, unknown>): unknown[] =>
  Object.values(exports).flatMap((value) => [value, ...itemsOf(value)]);

function itemsOf(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object, or the namespace of another module.
  return prototype === Object.prototype || prototype === null ? Object.values(value) : [];
}

function nothingToRun(exports: Record<string, unknown>, shown: string): Failure {
  const stranger = allOf(exports).find(extendsSomeActor);
  if (stranger !== undefined) {
    return new Failure("MODULE_INVALID", `${stranger.name} in ${shown} extends the Actor of another copy of limpet`, {
      hint: "Install limpet in the app's own folder and run it with: npx limpet dev",
    });
  }
  const names = exportedNames(exports);
  const what = names.length === 0 ? "nothing" : `${names.join(", ")}, but neither actors nor workflows`;
  return new Failure("MODULE_INVALID", `${shown} exports ${what}`, {
    hint:
      "Export a class: export class Cart extends Actor<{ items: string[] }> { … }\n" +
      'Or a workflow: export const order = workflow("order", async (ctx, input) => …)\n' +
      `If ${shown} starts limpet() by itself, run it with: node ${shown}`,
  });
}

/** Node treats a file without any export as CommonJS, which adds two exports. */
function exportedNames(exports: Record<string, unknown>): string[] {
  const common = exports["module.exports"];
  const bare = typeof common === "object" && common !== null && Object.keys(common).length === 0;
  return Object.keys(exports).filter((name) => name !== "module.exports" && !(bare && name === "default"));
}

function extendsSomeActor(value: unknown): value is { name: string } {
  if (typeof value !== "function") return false;
  for (let at: unknown = value; typeof at === "function"; at = Object.getPrototypeOf(at)) {
    if (at !== value && at.name === "Actor") return true;
  }
  return false;
}

export const typeNameOf = (actor: ActorClass): string => actor.options?.name ?? actor.name;

function checkNames(actors: readonly ActorClass[], shown: string): void {
  const seen = new Set<string>();
  for (const name of actors.map(typeNameOf)) {
    if (name === "") {
      throw new Failure("MODULE_INVALID", `${shown} exports an actor class without a name`, {
        hint: 'Name the class, or give it: static options = { name: "Cart" }',
      });
    }
    if (seen.has(name)) {
      throw new Failure("MODULE_INVALID", `${shown} exports two different actor classes named ${name}`, {
        hint: 'Rename one, or give it another name: static options = { name: "…" }',
      });
    }
    seen.add(name);
  }
}

const isWorkflow = (value: unknown): value is AnyWorkflow => {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 2) return false;
  const { name, run } = value as Partial<AnyWorkflow>;
  return typeof name === "string" && typeof run === "function";
};

/** Each workflow once. Throws when two of them have the same name. */
function collectWorkflows(values: readonly unknown[], shown: string): AnyWorkflow[] {
  const found = new Map<string, AnyWorkflow>();
  for (const value of values) {
    if (!isWorkflow(value)) continue;
    if (found.has(value.name) && found.get(value.name) !== value) {
      throw new Failure("MODULE_INVALID", `${shown} exports two different workflows named ${value.name}`, {
        hint: 'Give one of them another name: workflow("…", async (ctx, input) => …)',
      });
    }
    found.set(value.name, value);
  }
  return [...found.values()];
}

/** Only the export `activities` has activities, because any function could be one. */
function readActivities(value: unknown, shown: string): Readonly<Record<string, ActivityFunction>> {
  if (value === undefined) return {};
  const isRecord = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isRecord && Object.values(value).every((each) => typeof each === "function")) {
    return value as Record<string, ActivityFunction>;
  }
  throw new Failure("MODULE_INVALID", `activities in ${shown} must be an object of functions`, {
    hint: "For example: export const activities = { charge, ship };",
  });
}

function readTryThese(value: unknown, shown: string): readonly string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
  throw new Failure("MODULE_INVALID", `tryThese in ${shown} must be an array of strings`);
}
