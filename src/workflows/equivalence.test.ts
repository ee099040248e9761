// A run that stayed in memory and a run that is replayed from its history have issued the same commands and
// have the same waits after every step, for any program and any order of events.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { WorkflowContext } from "./definition/context.ts";
import { workflow } from "./definition/definition.ts";
import type { CommandEvent, ExternalEvent } from "./engine/events.ts";
import { DrivenRun } from "./execution-kit.test.ts";

/** A program of a workflow: its commands in sequence or in parallel. */
type Program =
  | {
      readonly do: "activity" | "sleep" | "child" | "sideEffect" | "random" | "attributes" | "version";
      readonly name: string;
    }
  | { readonly do: "signal"; readonly name: string; readonly within: number | undefined }
  | { readonly do: "condition"; readonly at: number; readonly within: number | undefined }
  | { readonly do: "all" | "race" | "settled" | "each" | "shield" | "try"; readonly of: readonly Program[] };

const NAME = fc.constantFrom("a", "b", "c");
const WITHIN = fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined });

const PROGRAM = fc.letrec<{ program: Program }>((tie) => ({
  program: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({
      do: fc.constantFrom("activity", "sleep", "child", "sideEffect", "random", "attributes", "version"),
      name: NAME,
    }) as fc.Arbitrary<Program>,
    fc.record({ do: fc.constant("signal" as const), name: NAME, within: WITHIN }),
    fc.record({ do: fc.constant("condition" as const), at: fc.integer({ min: 0, max: 5 }), within: WITHIN }),
    fc.record({
      do: fc.constantFrom("all", "race", "settled", "each", "shield", "try"),
      of: fc.array(tie("program"), { minLength: 1, maxLength: 3 }),
    }) as fc.Arbitrary<Program>,
  ),
})).program;

/** `seen`: the events of the run in order; conditions depend on it. */
async function perform(ctx: WorkflowContext, program: Program, seen: unknown[]): Promise<unknown> {
  const each = (of: readonly Program[]): Promise<unknown>[] => of.map((part) => perform(ctx, part, seen));
  const note = <T>(value: T): T => {
    seen.push(value);
    return value;
  };
  switch (program.do) {
    case "activity":
      return note(await ctx.activity(program.name, seen.length));
    case "sleep":
      await ctx.sleep(10 * program.name.charCodeAt(0));
      return note(ctx.now());
    case "child":
      return note(await ctx.child(program.name, { input: seen.length }));
    case "sideEffect":
      return note(ctx.sideEffect(() => Math.floor(Math.random() * 1e9)));
    case "random":
      return note([ctx.random(), ctx.uuid()]);
    case "attributes":
      ctx.setAttributes({ [program.name]: seen.length });
      return note(ctx.attributes);
    case "version":
      return note(ctx.version(program.name, 0, 1));
    case "signal":
      return note(
        await (program.within === undefined
          ? ctx.signal(program.name)
          : ctx.signal(program.name, { within: program.within })),
      );
    case "condition":
      return note(
        await ctx.condition(
          () => seen.length >= program.at,
          program.within === undefined ? {} : { within: program.within },
        ),
      );
    case "all":
      return Promise.all(each(program.of));
    case "race":
      return note(await Promise.race(each(program.of)));
    case "settled":
      return (await Promise.allSettled(each(program.of))).map(({ status }) => note(status));
    case "each":
      for (const part of program.of) await perform(ctx, part, seen);
      return note("each");
    case "shield":
      return ctx.shield(async () => Promise.all(each(program.of)));
    case "try":
      try {
        return await Promise.all(each(program.of));
      } catch (error) {
        return note(`caught ${(error as { code?: string }).code}`);
      }
  }
}

/** The events that may follow these commands. */
function answers(open: readonly CommandEvent[]): ExternalEvent[] {
  const error = { errorCode: "ACTIVITY_FAILED", message: "no", retry: "never" } as const;
  return open.flatMap((decision): ExternalEvent[] => {
    switch (decision.kind) {
      case "ActivityScheduled":
        return [
          { kind: "ActivityCompleted", of: decision.n, result: decision.n },
          { kind: "ActivityFailed", of: decision.n, error, attempts: 1 },
        ];
      case "TimerScheduled":
        return [{ kind: "TimerFired", of: decision.n }];
      case "ChildWorkflowScheduled":
        return [
          { kind: "ChildRunCompleted", of: decision.n, result: decision.n },
          { kind: "ChildRunFailed", of: decision.n, error },
        ];
      default:
        return [];
    }
  });
}

const SIGNALS = ["a", "b", "c"];

describe("equivalence of a run in memory and its replay", () => {
  it("a run in memory and its replay reach the same state after every step, for any program and any events", async () => {
    let steps = 0;
    let ends = 0;
    const property = fc.asyncProperty(
      fc.array(PROGRAM, { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(), { maxLength: 25 }),
      async (programs, choices) => {
        const program = workflow("program", async (ctx) => {
          const seen: unknown[] = [];
          ctx.onUpdate("note", async (input: never) => {
            seen.push(input);
            return ctx.activity("noted", input);
          });
          for (const part of programs) await perform(ctx, part, seen);
          return seen;
        });
        // Each step is replayed from the beginning, and compared.
        const run = await DrivenRun.begin(program);
        for (const choice of choices) {
          if (run.execution.end !== undefined) break;
          const open = run.steps
            .flatMap(({ events }) => events)
            .filter((event): event is CommandEvent => "n" in event && run.execution.isAwaited(event.n));
          const events: ExternalEvent[] = [
            ...answers(open),
            ...SIGNALS.map(
              (name): ExternalEvent => ({ kind: "SignalReceived", id: `s${choice}`, name, input: choice }),
            ),
            { kind: "UpdateAccepted", id: `u${steps}`, name: "note", input: choice },
            { kind: "CancelRequested", reason: "enough" },
          ];
          await run.deliver(events[choice % events.length]!);
          steps++;
        }
        if (run.execution.end !== undefined) ends++;
      },
    );
    await fc.assert(property, { numRuns: 300 });
    assert.ok(steps > 300 && ends > 30, `${steps} steps, ${ends} ends`);
  });
});
