// Scripted workflows: the input contains the script, and the result lists each word that the run has seen.
// Every word names its place in the script, so that words are never confused.
import { isLimpetError } from "../src/kernel/errors.ts";
import type { ActivityContext, ActivityFunction, WorkflowContext } from "../src/workflows/definition/context.ts";
import { type AnyWorkflow, workflow } from "../src/workflows/definition/definition.ts";
import type { Process } from "../src/world/process.ts";
import type { ActivityRun } from "./observer.ts";
import type { PlannedWorker, ScriptStep } from "./plan.ts";
import type { Stage } from "./stage.ts";

/** Callers start the first type, and scripts start the second as a child. Both behave the same. */
export const SCRIPT_TYPES = ["Script", "Sequel"] as const;
/** Signals that a script awaits one by one. A handler counts bells as they arrive. */
export const SIGNALS = ["north", "south"] as const;
export const BELL = "bell";

export interface ScriptInput {
  /** Word of the start: unique in the run of the simulator. */
  readonly word: string;
  readonly steps: readonly ScriptStep[];
  readonly cleans?: boolean;
  /** For a run that continues as new: the first step, and the words seen so far. */
  readonly from?: number;
  readonly seen?: readonly string[];
}

interface WorkInput {
  readonly word: string;
  readonly ms: number;
  readonly fails: number;
  readonly hangs: boolean;
}

export interface PokeInput {
  readonly word: string;
  readonly ms: number;
  readonly isRefused: boolean;
}

let executions = 0;
let effects = 0;

/** Numbers restart with every run, so that two runs of a seed are equal. */
export function beginScripts(): void {
  executions = 0;
  effects = 0;
}

/** True for a word that an actor appends when a workflow calls it. */
export const isScriptWord = (word: string): boolean => word.endsWith("~");

/** The error that ends the steps after a cancellation. */
const isCancel = (error: unknown): boolean => isLimpetError(error, "WORKFLOW_CANCELLED");

const codeOf = (error: unknown): string =>
  String((error as { code?: unknown }).code ?? (error as Error).message ?? error);

/** One execution of a script. */
class Performance {
  readonly #ctx: WorkflowContext;
  readonly #input: ScriptInput;
  readonly seen: string[];
  #bells = 0;

  constructor(ctx: WorkflowContext, input: ScriptInput) {
    this.#ctx = ctx;
    this.#input = input;
    this.seen = [...(input.seen ?? [])];
  }

  begin(): void {
    const ctx = this.#ctx;
    ctx.onQuery("seen", () => [...this.seen]);
    ctx.onUpdate("poke", (input: PokeInput) => this.#poked(input), {
      validate: ({ isRefused }: PokeInput) => {
        if (isRefused) throw new Error("refused");
      },
    });
    ctx.onSignal(BELL, (word: string) => {
      this.#bells++;
      this.seen.push(`${BELL} ${word}`);
    });
  }

  async #poked({ word, ms }: PokeInput): Promise<string> {
    if (ms > 0) await this.#ctx.activity("work", { word, ms, fails: 0, hangs: false } satisfies WorkInput);
    this.seen.push(`poke ${word}`);
    return `poked ${word}`;
  }

  async perform(): Promise<string[]> {
    const { steps, from = 0, cleans } = this.#input;
    try {
      for (let i = from; i < steps.length; i++) await this.#step(steps[i]!, `${i}`, i);
    } catch (error) {
      if (!cleans || !isCancel(error)) throw error;
      await this.#ctx.shield(() => this.#step({ do: "activity", name: "work", ms: 20 }, "cleaning", 0));
      throw error;
    }
    return this.seen;
  }

  async #line(steps: readonly ScriptStep[], path: string, index: number): Promise<void> {
    for (const [i, step] of steps.entries()) await this.#step(step, `${path}.${i}`, index);
  }

  /** `index`: the step of the whole script that contains this one. */
  async #step(step: ScriptStep, path: string, index: number): Promise<void> {
    const ctx = this.#ctx;
    const word = `${this.#input.word}/${path}`;
    switch (step.do) {
      case "activity":
        return this.#try(path, async () => {
          const { ms, fails = 0, attempts = 3, hangsMs } = step;
          const input: WorkInput = { word, ms, fails, hangs: hangsMs !== undefined };
          const retry = { attempts, initial: 40, factor: 2 };
          return ctx.activity<string>(step.name, input, {
            retry,
            ...(hangsMs === undefined ? {} : { startToClose: hangsMs }),
          });
        });
      case "sleep": {
        const from = ctx.now();
        await ctx.sleep(step.ms);
        this.seen.push(`${path} slept ${ctx.now() - from >= step.ms ? "long enough" : "too little"}`);
        return;
      }
      case "signal": {
        const { name, within } = step;
        const got = await (within === undefined ? ctx.signal<string>(name) : ctx.signal<string>(name, { within }));
        this.seen.push(`${path} ${got === undefined ? "nothing" : `signal ${got}`}`);
        return;
      }
      case "bells": {
        const isEnough = await ctx.condition(() => this.#bells >= step.count, { within: step.within });
        this.seen.push(`${path} bells ${isEnough}`);
        return;
      }
      case "child": {
        const input: ScriptInput = { word, steps: step.steps };
        const child = ctx.child<string[]>(SCRIPT_TYPES[1], { input, onParentClose: step.onParentClose });
        if (step.waits) await this.#try(path, async () => (await child).join("; "));
        return;
      }
      case "tell":
        ctx.workflow(step.workflow).signal(step.name, word);
        return;
      case "actor":
        return this.#try(path, async () => {
          const actor = ctx.actor<{ append(op: string, how: object): number }>(step.type, step.id);
          return `${(await actor.append(`${word}~`, {})) > 0}`;
        });
      case "note":
        return this.#note(path);
      case "all":
        await Promise.all(step.parts.map((part, i) => this.#line(part, `${path}.${i}`, index)));
        return;
      case "race":
        await Promise.race(step.parts.map((part, i) => this.#line(part, `${path}.${i}`, index)));
        this.seen.push(`${path} won`);
        return;
      case "fail":
        throw new Error("early");
      case "again":
        return ctx.continueAsNew({ ...this.#input, from: index + 1, seen: this.seen } satisfies ScriptInput);
    }
  }

  #note(path: string): void {
    const ctx = this.#ctx;
    // A different value at every execution, as far as a deterministic world allows it.
    const effect = ctx.sideEffect(() => ++effects);
    const version = ctx.version(`change-${path}`, 1, 2);
    const entries = [effect, version, ctx.now(), ctx.random(), ctx.uuid()];
    ctx.setMemo({ path, effect });
    ctx.setAttributes({ effect });
    this.seen.push(`${path} noted ${entries.join(" ")}`);
  }

  async #try(path: string, work: () => Promise<string>): Promise<void> {
    try {
      this.seen.push(`${path} ${await work()}`);
    } catch (error) {
      if (isCancel(error) && this.#ctx.isCancelled) throw error;
      this.seen.push(`${path} ${codeOf(error)}`);
    }
  }
}

async function perform(ctx: WorkflowContext, input: ScriptInput): Promise<string[]> {
  const performance = new Performance(ctx, input);
  performance.begin();
  return performance.perform();
}

/** Also for replays, which need no activities. */
export const SCRIPTS: readonly AnyWorkflow[] = SCRIPT_TYPES.map((type) => workflow(type, perform));

/** Workflows and activities of one process. The stage attributes their runs to this process. */
export function scriptsOf(
  stage: Stage,
  box: { readonly process: Process | undefined },
  { types, errands }: PlannedWorker,
): { workflows: readonly AnyWorkflow[]; activities: Record<string, ActivityFunction> } {
  async function work({ word, ms, fails, hangs }: WorkInput, activity: ActivityContext): Promise<string> {
    const process = box.process!;
    const { workflowId, runId, attempt, idempotencyKey: key, signal } = activity;
    const number = ++executions;
    const result = `${key}#${number}`;
    const run: ActivityRun = { number, process, workflowId, runId, key, word, attempt, result, beganAt: stage.now };
    stage.works(run);
    await new Promise<void>((go) => {
      process.clock.after(ms, go);
      signal.addEventListener("abort", () => go(), { once: true });
    });
    if (hangs && !signal.aborted) {
      await new Promise<void>((go) => signal.addEventListener("abort", () => go(), { once: true }));
    }
    const isDone = !signal.aborted && attempt > fails;
    stage.worked(run, isDone);
    if (!isDone) throw new Error("early");
    return result;
  }
  // Each process has its own functions, as if it had loaded them itself.
  return {
    workflows: SCRIPTS.filter(({ name }) => types.includes(name)),
    activities: { work: (input, activity) => work(input, activity), ...(errands ? { errand: work } : {}) },
  };
}
