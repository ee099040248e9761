// Restores reminders that an open run waits for and that are missing: its timers, its queued activities, its
// time limits. The history shows which are missing. A second tick or result is ignored, so restoring a
// reminder that was only in flight is harmless. An activity whose row was lost is tried from the beginning.

import type { ReminderWriter } from "../../ports/reminder-writer.ts";
import type { Reminders, ReminderWrite } from "../../ports/store/reminders.ts";
import type { StoredRun, Workflows } from "../../ports/store/workflows.ts";
import { readMessage } from "../definition/messages.ts";
import type { CommandEvent } from "../engine/events.ts";
import type { CommandDispatcher } from "../worker/command-dispatcher.ts";
import { CompletionBuilder } from "../worker/completion.ts";
import type { RunState } from "./run-state.ts";
import { RunStates } from "./run-states.ts";

export interface MendingDeps {
  readonly store: Workflows;
  readonly reminders: Reminders;
  readonly writer: ReminderWriter;
  readonly dispatcher: CommandDispatcher;
  /** The store's clock. */
  now(): number;
}

/** Reminders of one run that are checked, and inbox messages in one read. */
const MOST_LOOKED_FOR = 1_000;
const READ_MESSAGES = 1_000;

/** Returns the number of restored reminders. */
export async function mend(stored: StoredRun, deps: MendingDeps): Promise<number> {
  const { store, reminders, writer, dispatcher } = deps;
  const run = await new RunStates(store, 0).get(stored.ref, undefined);
  if (run === undefined || run.isOver) return 0;
  const own = dispatcher.forQueue(stored.queue);
  const steps = new CompletionBuilder(run, own);
  steps.dispatch(awaitedSteps(run), deps.now());
  const wanted = [...steps.reminders, ...own.limits(run)];
  const missing: ReminderWrite[] = [];
  for (const write of wanted.slice(0, MOST_LOOKED_FOR)) {
    if (write.kind === "set" && (await reminders.get(write.key)) === undefined) missing.push(write);
  }
  if (missing.length === 0) return 0;
  const arriving = await arrivingFor(stored.ref, store);
  // Steps that ended meanwhile are in the newer history.
  const { events } = (await store.find(stored)) ?? stored;
  if (events !== run.last) return 0;
  const lost = missing.filter(({ key }) => !arriving.has(key.name));
  for (const write of lost) await writer.write(write.kind === "set" ? { ...write, isNew: true } : write);
  return lost.length;
}

/** Steps that wait for a reminder. An activity that is eager or local has none. */
function awaitedSteps(run: RunState): CommandEvent[] {
  const steps = run.execution
    .awaited("TimerScheduled", "ActivityScheduled")
    .map((n) => run.steps.get(n) ?? waitTimer(run, n));
  return steps.filter((step) => {
    if (step === undefined) return false;
    return step.kind !== "ActivityScheduled" || (step.eager !== true && step.local !== true);
  }) as CommandEvent[];
}

/** The timer that ends a wait is no event of its own. */
function waitTimer(run: RunState, n: number): CommandEvent | undefined {
  const opened = run.history.find(({ events }) => events.some((event) => event === run.waits.get(n)));
  const seconds = run.waits.get(n)?.seconds;
  if (opened === undefined || seconds === undefined) return undefined;
  return { kind: "TimerScheduled", n, at: opened.at + seconds * 1_000 };
}

/** Numbers, as texts, of the steps whose outcome waits in the inbox. */
async function arrivingFor(ref: number, store: Workflows): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let after = 0; ; ) {
    const messages = await store.inbox(ref, after, READ_MESSAGES);
    for (const { data } of messages) {
      const { message } = readMessage(data);
      if ("of" in message) found.add(String(message.of));
    }
    if (messages.length < READ_MESSAGES) return found;
    after = messages.at(-1)!.number;
  }
}
