// Defines workflows, and typed names for their signals, queries and updates.
import { LimpetError } from "../../kernel/errors.ts";
import { hash64 } from "../../kernel/hashes.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { nameProblem } from "../../kernel/names.ts";
import type { WorkflowContext } from "./context.ts";

/** A workflow: a name, and a plain async function whose progress is a durable history. */
export interface Workflow<Input, Result> {
  readonly name: string;
  readonly run: (ctx: WorkflowContext, input: Input) => Promise<Result> | Result;
}

// biome-ignore lint/suspicious/noExplicitAny: any workflow, with any input and result.
export type AnyWorkflow = Workflow<any, any>;

export type InputOf<W extends AnyWorkflow> = W extends Workflow<infer Input, unknown> ? Input : never;
export type ResultOf<W extends AnyWorkflow> = W extends Workflow<never, infer Result> ? Result : never;

/**
 * Defines a workflow. The function may run many times for one run, and must do the same each time: it gets
 * time, random numbers and everything external through `ctx`. It must be a plain async function without state
 * outside of it.
 */
export function workflow<Input = void, Result = void>(
  name: string,
  run: (ctx: WorkflowContext, input: Input) => Promise<Result> | Result,
): Workflow<Input, Result> {
  checkWorkflowName(name);
  if (typeof run !== "function") {
    throw new LimpetError(
      "WORKFLOW_INVALID",
      `workflow ${name} needs a function: workflow(name, async (ctx, input) => …)`,
    );
  }
  return { name, run };
}

/** The name of a signal, with the type of its input. */
export interface SignalName<Input> {
  readonly signal: string;
  readonly input?: Input;
}

/** The name of a query, with the types of its input and answer. */
export interface QueryName<Result, Input = void> {
  readonly query: string;
  readonly types?: (input: Input) => Result;
}

/** The name of an update, with the types of its input and answer. */
export interface UpdateName<Result, Input = void> {
  readonly update: string;
  readonly types?: (input: Input) => Result;
}

export const signal = <Input = void>(name: string): SignalName<Input> => ({ signal: checked("signal", name) });
export const query = <Result, Input = void>(name: string): QueryName<Result, Input> => ({
  query: checked("query", name),
});
export const update = <Result, Input = void>(name: string): UpdateName<Result, Input> => ({
  update: checked("update", name),
});

/** Throws unless every entry is a workflow and all names differ. */
export function checkDefinitions(definitions: readonly AnyWorkflow[]): void {
  const known = new Map<string, AnyWorkflow>();
  for (const definition of definitions) {
    if (typeof definition?.name !== "string" || typeof definition.run !== "function") {
      const shown = typeof definition === "function" ? (definition as { name: string }).name : String(definition);
      const message = `workflows: ${shown} is not a workflow; write workflow(name, async (ctx, input) => …)`;
      throw new LimpetError("WORKFLOW_INVALID", message);
    }
    const { name } = definition;
    if ((known.get(name) ?? definition).run !== definition.run) {
      throw new LimpetError("WORKFLOW_INVALID", `workflows: two of them are called ${name}, and their code differs`);
    }
    known.set(name, definition);
  }
}

/** Changes whenever the text of the workflow's function changes. */
export function fingerprintOf({ name, run }: AnyWorkflow): string {
  const words = new Uint32Array(4);
  const text = Function.prototype.toString.call(run);
  hash64(`${name}\n${text}`, words, 0);
  hash64(`${text}\n${name}`, words, 2);
  return [...words].map((word) => word.toString(16).padStart(8, "0")).join("");
}

function checkWorkflowName(name: unknown): asserts name is string {
  checked("workflow", name);
}

export function checkWorkflowId(id: unknown): asserts id is string {
  const problem = nameProblem(id, LIMITS.idBytes);
  if (problem !== undefined) throw new LimpetError("NAME_INVALID", `workflow id ${problem}`);
}

export function checked(what: string, name: unknown): string {
  const problem = nameProblem(name, LIMITS.wordBytes);
  if (problem !== undefined) throw new LimpetError("NAME_INVALID", `${what} name ${problem}`);
  return name as string;
}
