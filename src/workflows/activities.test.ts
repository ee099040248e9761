// An activity has the same outcome in all three places: in the worker of its workflow, through a queue in the
// same process, and through a queue in another process. One table runs in all three.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LimpetError } from "../kernel/errors.ts";
import { TestProcesses } from "./activity-kit.test.ts";
import type { ActivityContext, ActivityOptions } from "./definition/context.ts";
import { workflow } from "./definition/definition.ts";

type Outcome =
  | { readonly result: unknown }
  | { readonly code: unknown; readonly says: string; readonly cause: unknown };

interface Case {
  readonly title: string;
  readonly act: (activity: ActivityContext, seconds: number) => unknown;
  readonly options?: ActivityOptions;
  /** When attempts begin, in seconds. */
  readonly attempts: readonly number[];
  readonly outcome:
    | { readonly result: unknown }
    | { readonly code: string; readonly says: RegExp; readonly cause?: string };
  /** When the workflow is over. */
  readonly over: number;
}

class CardStolen extends Error {}
const coded = (code: string): Error => Object.assign(new Error("it has a code"), { code });
const never = (): Promise<never> => new Promise(() => {});
const fail = (error: unknown) => (): never => {
  throw error;
};
const poisoned = {
  get message(): string {
    throw new TypeError("it bites");
  },
  get name(): string {
    throw new TypeError("it bites");
  },
  toString(): string {
    throw new TypeError("it bites");
  },
  constructor: undefined,
};
const once = { retry: { attempts: 1 } } as const;

const CASES: readonly Case[] = [
  {
    title: "an activity returns its result",
    act: () => ({ at: new Date(5), list: [1n] }),
    attempts: [0],
    outcome: { result: { at: new Date(5), list: [1n] } },
    over: 0,
  },
  {
    title: "an activity is retried after growing pauses up to the longest, and fails with its last error",
    act: ({ attempt }) => fail(new RangeError(`attempt ${attempt}`))(),
    options: { retry: { attempts: 5, initial: "10s", factor: 3, longest: "60s" } },
    attempts: [0, 10, 40, 100, 160],
    outcome: { code: "ACTIVITY_FAILED", says: /^attempt 5$/, cause: "RangeError" },
    over: 160,
  },
  {
    title: "an activity is retried without limit by default",
    act: ({ attempt }) => (attempt < 8 ? fail(new Error("not yet"))() : attempt),
    attempts: [0, 1, 3, 7, 15, 31, 63, 123],
    outcome: { result: 8 },
    over: 123,
  },
  {
    title: "an activity is retried after the listed pauses, the last of which repeats",
    act: () => fail(new Error("no"))(),
    options: { retry: { attempts: 4, delays: ["1s", "5s"] } },
    attempts: [0, 1, 6, 11],
    outcome: { code: "ACTIVITY_FAILED", says: /^no$/ },
    over: 11,
  },
  {
    title: "an activity has one attempt more than listed pauses",
    act: () => fail(new Error("no"))(),
    options: { retry: { delays: ["1s", "5s"] } },
    attempts: [0, 1, 6],
    outcome: { code: "ACTIVITY_FAILED", says: /^no$/ },
    over: 6,
  },
  {
    title: "an activity with a pause of zero is retried at once",
    act: ({ attempt }) => (attempt < 4 ? fail(new Error("no"))() : attempt),
    options: { retry: { initial: 0 } },
    attempts: [0, 0, 0, 0],
    outcome: { result: 4 },
    over: 0,
  },
  {
    title: "an activity is not retried after an error with a listed name",
    act: () => fail(new RangeError("far out"))(),
    options: { retry: { nonRetryable: ["Other", "RangeError"] } },
    attempts: [0],
    outcome: { code: "ACTIVITY_FAILED", says: /^far out$/, cause: "RangeError" },
    over: 0,
  },
  {
    title: "an activity is not retried after an error of a listed class without a name of its own",
    act: () => fail(new CardStolen("gone"))(),
    options: { retry: { nonRetryable: ["CardStolen"] } },
    attempts: [0],
    outcome: { code: "ACTIVITY_FAILED", says: /^gone$/ },
    over: 0,
  },
  {
    title: "an activity is not retried after an error with a listed code",
    act: ({ attempt }) => fail(attempt === 1 ? coded("E_BUSY") : coded("E_GONE"))(),
    options: { retry: { initial: "2s", nonRetryable: ["E_GONE"] } },
    attempts: [0, 2],
    outcome: { code: "ACTIVITY_FAILED", says: /^it has a code$/ },
    over: 2,
  },
  {
    title: "an attempt that takes too long fails, and is retried",
    act: never,
    options: { startToClose: "30s", retry: { attempts: 2, initial: "5s" } },
    attempts: [0, 35],
    outcome: { code: "ACTIVITY_TIMED_OUT", says: /longer than 30000 ms/ },
    over: 65,
  },
  {
    title: "an activity is not retried when the next attempt would begin after its deadline",
    act: ({ attempt }) => fail(new Error(`attempt ${attempt}`))(),
    options: { scheduleToClose: "60s", retry: { initial: "10s" } },
    attempts: [0, 10, 30],
    outcome: { code: "ACTIVITY_TIMED_OUT", says: /not done within 60000 ms.*attempt 3/, cause: "Error" },
    over: 30,
  },
  {
    title: "an activity times out at its deadline, in the middle of an attempt",
    act: never,
    options: { scheduleToClose: "20s" },
    attempts: [0],
    outcome: { code: "ACTIVITY_TIMED_OUT", says: /./ },
    over: 20,
  },
  {
    title: "an activity that begins in time may run longer than it may wait",
    act: async ({ attempt }, seconds) => [attempt, seconds],
    options: { scheduleToStart: "1s" },
    attempts: [0],
    outcome: { result: [1, 0] },
    over: 0,
  },
  {
    title: "an attempt gets the last heartbeat details of the one before",
    act: ({ attempt, lastHeartbeat, heartbeat }) => {
      heartbeat({ page: attempt * 10 - 1 });
      heartbeat({ page: attempt * 10, at: new Date(attempt), before: lastHeartbeat });
      return attempt < 3 ? fail(new Error("no"))() : lastHeartbeat;
    },
    attempts: [0, 1, 3],
    outcome: { result: { page: 20, at: new Date(2), before: { page: 10, at: new Date(1), before: undefined } } },
    over: 3,
  },
  ...([null, undefined, 7, Symbol("odd"), () => 1, Object.create(null), poisoned] as const).map(
    (thrown, i): Case => ({
      title: `an activity may throw any value: case ${i + 1}`,
      act: fail(thrown),
      options: once,
      attempts: [0],
      outcome: { code: "ACTIVITY_FAILED", says: /^the activity threw/ },
      over: 0,
    }),
  ),
  {
    title: "an activity that throws a text fails with it",
    act: fail("just words"),
    options: once,
    attempts: [0],
    outcome: { code: "ACTIVITY_FAILED", says: /^just words$/ },
    over: 0,
  },
  {
    title: "a very long error message of an activity is cut",
    act: () => fail(new Error("x".repeat(5_000_000), { cause: new Error("y".repeat(5_000_000)) }))(),
    options: once,
    attempts: [0],
    outcome: { code: "ACTIVITY_FAILED", says: /^x{16384}…$/ },
    over: 0,
  },
  {
    title: "an activity whose result cannot be stored fails, and is not retried",
    act: () => ({ fn: () => 1 }),
    attempts: [0],
    outcome: { code: "ACTIVITY_FAILED", says: /the result\.fn \(a function\) cannot be stored/ },
    over: 0,
  },
  {
    title: "an activity whose result is too large fails, and is not retried",
    act: () => "x".repeat(2 * 1024 * 1024),
    attempts: [0],
    outcome: { code: "ACTIVITY_FAILED", says: /the result: 2097154 bytes, and 2097152 are allowed/ },
    over: 0,
  },
  {
    title: "an activity may have a large result",
    act: () => "x".repeat(2 * 1024 * 1024 - 100),
    attempts: [0],
    outcome: { result: "x".repeat(2 * 1024 * 1024 - 100) },
    over: 0,
  },
  {
    title: "an activity may send large heartbeat details, and the next attempt gets all of them",
    act: ({ attempt, heartbeat, lastHeartbeat }) => {
      heartbeat(Array.from({ length: 80_000 }, () => new Date(attempt)));
      return attempt === 1 ? fail(new Error("no"))() : (lastHeartbeat as Date[]).length;
    },
    attempts: [0, 1],
    outcome: { result: 80_000 },
    over: 1,
  },
  {
    title: "an activity with too large heartbeat details gets an error",
    act: ({ heartbeat }) => heartbeat("x".repeat(2 * 1024 * 1024)),
    options: once,
    attempts: [0],
    outcome: { code: "ACTIVITY_FAILED", says: /the details: 2097154 bytes/ },
    over: 0,
  },
];

type Mode = "at once" | "through a queue" | "through a queue in another process";

async function run(
  mode: Mode,
  { act, options }: Case,
): Promise<{ attempts: number[]; outcome: Outcome; over: number }> {
  await using processes = new TestProcesses();
  const attempts: number[] = [];
  const activities = {
    act: (_: unknown, activity: ActivityContext) => {
      attempts.push(processes.seconds);
      return act(activity, processes.seconds);
    },
  };
  const how: ActivityOptions =
    mode === "at once" ? {} : mode === "through a queue" ? { heartbeat: "1d" } : { queue: "elsewhere" };
  const asking = workflow("asking", async (ctx): Promise<Outcome> => {
    try {
      return { result: await ctx.activity("act", undefined, { ...options, ...how }) };
    } catch (thrown) {
      const { code, message, cause } = thrown as LimpetError;
      return { code, says: message, cause: (cause as Error | undefined)?.name };
    }
  });
  const isElsewhere = mode === "through a queue in another process";
  const app = await processes.open({ workflows: [asking], ...(!isElsewhere && { activities }) });
  if (isElsewhere) await processes.open({ activities, queue: "elsewhere" });
  const handle = await app.workflows.start(asking, { id: "a", input: undefined });
  let over = Number.NaN;
  const result = handle.result().then((value) => {
    over = processes.seconds;
    return value;
  });
  for (let i = 0; i < 300 && Number.isNaN(over); i++) await processes.advance("1s");
  assert.ok(!Number.isNaN(over), `it does not end; attempts at ${attempts.join(", ")}`);
  return { attempts, outcome: await result, over };
}

for (const mode of ["at once", "through a queue", "through a queue in another process"] as const) {
  describe(`an activity that runs ${mode}`, () => {
    for (const each of CASES) {
      it(each.title, async () => {
        const { attempts, outcome, over } = await run(mode, each);
        assert.deepEqual(attempts, each.attempts);
        const { outcome: expected } = each;
        if ("result" in expected) {
          assert.deepEqual(outcome, expected);
        } else {
          assert.ok("code" in outcome, `it gave ${JSON.stringify(outcome)}`);
          assert.equal(outcome.code, expected.code);
          assert.match(outcome.says, expected.says);
          if (expected.cause !== undefined) assert.equal(outcome.cause, expected.cause);
        }
        assert.equal(over, each.over);
      });
    }
  });
}
