// Proposes two commands with a real type and a real method, which a new user can copy unchanged. Pure.

import { RESERVED } from "../../actors/actor.ts";
import type { ActorClass } from "../../actors/routing/remote.ts";
import type { AnyWorkflow } from "../../workflows/definition/definition.ts";
import { shellWord } from "../common/phrases.ts";
import { typeNameOf } from "./load-module.ts";

interface Method {
  readonly name: string;
  /** The names of the required parameters. */
  readonly parameters: readonly string[];
}

export function proposeCommands(actors: readonly ActorClass[], workflows: readonly AnyWorkflow[] = []): string[] {
  // The actor with the most methods is the most useful example.
  const [best] = actors
    .map((actor) => ({ type: shellWord(typeNameOf(actor)), methods: callable(actor) }))
    .filter(({ methods }) => methods.length > 0)
    .sort((a, b) => b.methods.length - a.methods.length);
  if (best === undefined) return workflows.length > 0 ? startCommands(workflows[0]!) : ["limpet actors"];
  const { type, methods } = best;
  // First a change, then a read of its result.
  const change =
    methods.find(({ parameters }) => parameters.length === 1) ??
    methods.find(({ parameters }) => parameters.length > 1);
  const look = methods.find(({ parameters }) => parameters.length === 0);
  const calls = [change, look]
    .filter((method) => method !== undefined)
    .map(({ name, parameters }) => {
      return ["limpet call", type, "alice", shellWord(name), ...parameters.map((each) => shellWord(guess(each)))].join(
        " ",
      );
    });
  return [...calls, `limpet explain ${type} alice`].slice(0, 2);
}

const startCommands = ({ name }: AnyWorkflow): string[] => [
  `limpet workflows first --start ${shellWord(name)}`,
  "limpet workflows first",
];

/** Methods that the class itself declares and whose parameters can be guessed. */
function callable(actor: ActorClass): Method[] {
  const methods: Method[] = [];
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(actor.prototype as object))) {
    if (typeof value !== "function" || RESERVED.has(name) || name.startsWith("_")) continue;
    const parameters = parametersOf(value as () => unknown);
    if (parameters !== undefined) methods.push({ name, parameters });
  }
  return methods;
}

/**
 * Parameter names; `undefined` when they are not plain names. Types are stripped, so the source of the
 * function shows them.
 */
function parametersOf(method: (...args: unknown[]) => unknown): string[] | undefined {
  if (method.length === 0) return [];
  const list = /\(([^)]*)\)/.exec(String(method))?.[1]?.split(",").slice(0, method.length) ?? [];
  const names = list.map((part) => part.trim().replace(/\s*=.*$/s, ""));
  return names.length === method.length && names.every((name) => /^[\w$]+$/.test(name)) ? names : undefined;
}

const NUMERIC =
  /^(n|x|y|by|qty|num|age|\w*(count|amount|quantity|delta|price|points?|score|limit|total|size|number|cents|steps?|value))$/i;

/** A probable value for a parameter of this name. */
function guess(parameter: string): string {
  if (NUMERIC.test(parameter)) return "1";
  if (/^(is|has|should)[A-Z]|^(enabled|active|on|flag)$/.test(parameter)) return "true";
  return JSON.stringify(parameter);
}
