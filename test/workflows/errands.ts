// Workflows with a plan in their input: things to do, one after the other or at once. The result of a plan
// can be computed without running it, so that a test knows the result of every run, whatever happens to its
// processes. Every effect beside the history leaves a trace (support/trace-file.ts) or is in the state of an
// actor.
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { ActivityContext } from "../../src/index.ts";
import { Actor, workflow } from "../../src/index.ts";
import type { WorkflowContext } from "../../src/workflows/definition/context.ts";
import { writeTrace } from "../support/trace-file.ts";

/**
 * `key` is unique among all plans of a test. An activity takes `ms`, and lasts until there is a file called
 * `until`.
 */
export type Thing =
  | { readonly do: "activity"; readonly key: string; readonly ms?: number; readonly until?: string }
  /** Fails at its first attempt. */
  | { readonly do: "flaky"; readonly key: string }
  | { readonly do: "sleep"; readonly ms: number }
  /** Waits for the next word. */
  | { readonly do: "listen" }
  /** Waits until so many updates were made. */
  | { readonly do: "updates"; readonly count: number }
  /** An entry in the state of an actor. */
  | { readonly do: "enter"; readonly book: string; readonly key: string }
  | { readonly do: "child"; readonly plan: Plan }
  | { readonly do: "all"; readonly things: Plan }
  /** The next run does the rest. */
  | { readonly do: "anew" };

export type Plan = readonly Thing[];

export interface Errand {
  readonly plan: Plan;
  /** Results of earlier runs. */
  readonly done?: readonly string[];
}

/** Result of a plan, if its workflow gets these words in this order. */
export function outcomeOf(plan: Plan, words: readonly string[] = []): string[] {
  let heard = 0;
  const of = (thing: Thing): string[] => {
    switch (thing.do) {
      case "activity":
      case "flaky":
        return [`${thing.do} ${thing.key}`];
      case "enter":
        return [`entered ${thing.key}`];
      case "listen":
        return [`heard ${words[heard++]}`];
      case "updates":
        return [`${thing.count} updates`];
      case "child":
        return [`child: ${outcomeOf(thing.plan).join(", ")}`];
      case "all":
        return thing.things.flatMap(of);
      case "sleep":
      case "anew":
        return [];
    }
  };
  return plan.flatMap(of);
}

/** Everything in it, at any depth. */
export function thingsOf(plan: Plan): Thing[] {
  return plan.flatMap((thing) => {
    if (thing.do === "child") return [thing, ...thingsOf(thing.plan)];
    return thing.do === "all" ? [thing, ...thingsOf(thing.things)] : [thing];
  });
}

// ——— Beside the history.

/** One attempt at an activity: begun, or at its end. */
export type AttemptLine = readonly [kind: "begin" | "end", at: number, key: string, attempt: number, run: string];

export interface Act {
  readonly key: string;
  readonly ms?: number;
  readonly until?: string;
}

async function attempted({ key, ms = 0, until }: Act, { attempt, runId }: ActivityContext): Promise<void> {
  const line = (kind: "begin" | "end"): void => {
    const said: AttemptLine = [kind, Date.now(), key, attempt, runId];
    writeTrace(said);
  };
  line("begin");
  if (ms > 0) await pause(ms);
  while (until !== undefined && !existsSync(until)) await pause(20);
  line("end");
}

async function act(what: Act, context: ActivityContext): Promise<string> {
  await attempted(what, context);
  return `activity ${what.key}`;
}

async function actFlakily(what: Act, context: ActivityContext): Promise<string> {
  await attempted(what, context);
  if (context.attempt === 1) throw new RangeError("not the first time");
  return `flaky ${what.key}`;
}

export const activities = { act, actFlakily };

/** Each entry counts once, however often it is made: a caller with an unknown outcome makes it again. */
export class Book extends Actor<{ entries: string[]; repeated: number }> {
  initial() {
    return { entries: [] as string[], repeated: 0 };
  }

  enter(key: string): string {
    if (this.state.entries.includes(key)) this.state.repeated++;
    else this.state.entries.push(key);
    return `entered ${key}`;
  }

  /** An entry and a workflow: both, or none. */
  async send(id: string, input: Errand): Promise<boolean> {
    if (this.state.entries.includes(id)) return false;
    this.state.entries.push(id);
    await this.workflows.start(errand, { id, input });
    return true;
  }

  all(): { entries: string[]; repeated: number } {
    return { entries: [...this.state.entries], repeated: this.state.repeated };
  }
}

export const actors = [Book];

// ——— The workflows.

interface Heard {
  updates: number;
}

async function doThing(ctx: WorkflowContext, thing: Thing, heard: Heard): Promise<string[]> {
  switch (thing.do) {
    case "activity":
      return [await ctx.activity<string>("act", thing)];
    case "flaky":
      return [await ctx.activity(actFlakily, thing, { retry: { initial: "20ms" } })];
    case "sleep":
      await ctx.sleep(thing.ms);
      return [];
    case "listen":
      return [`heard ${await ctx.signal<string>("word")}`];
    case "updates":
      await ctx.condition(() => heard.updates >= thing.count);
      return [`${thing.count} updates`];
    case "enter":
      return [await ctx.actor(Book, thing.book).enter(thing.key)];
    case "child":
      return [`child: ${(await ctx.child(errand, { input: { plan: thing.plan } })).join(", ")}`];
    case "all":
      return (await Promise.all(thing.things.map((each) => doThing(ctx, each, heard)))).flat();
    case "anew":
      return [];
  }
}

export const errand = workflow("errand", async (ctx, { plan, done = [] }: Errand): Promise<string[]> => {
  const heard = { updates: 0 };
  const all = [...done];
  ctx.onQuery("done", () => all.length);
  ctx.onUpdate("tell", async (key: string) => {
    const said = await ctx.activity<string>("act", { key });
    heard.updates++;
    return said;
  });
  for (const [i, thing] of plan.entries()) {
    if (thing.do === "anew") ctx.continueAsNew({ plan: plan.slice(i + 1), done: all } satisfies Errand);
    all.push(...(await doThing(ctx, thing, heard)));
  }
  return all;
});

export const workflows = [errand];
