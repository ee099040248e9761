// Converts the completion of a remote worker's task into commands of the run. Pure.
//
// Such a worker may report its waits again: the same activity, the same group. A reported step that is still
// open is not issued again. A condition wait is recorded every time it is reported, so that events in between
// keep their place; the timer of the previous wait continues.
import { CATALOGUE, LimpetError } from "../../kernel/errors.ts";
import { type SerializedError, serializeError } from "../../kernel/serialized-error.ts";
import { nextRunId } from "../../workflows/engine/continued.ts";
import type { CommandEvent, ExternalEvent, ParallelGroup, RunEndEvent, Wire } from "../../workflows/engine/events.ts";
import type { RunState, StepCommand } from "../../workflows/history/run-state.ts";
import { identityOf, selectionOf, stepsOf } from "../../workflows/history/selection.ts";
import { CANCELLED_NAME, stopOf } from "./cleanup.ts";
import type { InGroup, LocalOutcome, WorkerCommand } from "./command.ts";
import { checkMemo } from "./memo.ts";

/** The events for the history, and timers that follow without events of their own. */
export interface Decided {
  readonly events: (CommandEvent | ExternalEvent)[];
  readonly timers: CommandEvent[];
  readonly end: RunEndEvent | undefined;
  /** The queue of the next run, if it changes. */
  readonly queue: string | undefined;
}

const ENDS: ReadonlySet<string> = new Set<WorkerCommand["kind"]>([
  "complete_workflow",
  "fail_workflow",
  "continue_as_new",
]);

/** Throws WORKFLOW_INVALID when the commands contradict each other or the run. */
export function decide(run: RunState, commands: readonly WorkerCommand[], now: number): Decided {
  check(commands);
  const making = new Making(run, now);
  for (const command of commands) making.add(command);
  return making.end();
}

function check(commands: readonly WorkerCommand[]): void {
  const ends = commands.filter(({ kind }) => ENDS.has(kind));
  if (ends.length > 1 || (ends.length === 1 && commands.at(-1) !== ends[0])) {
    throw new LimpetError("WORKFLOW_INVALID", "there can be one command that ends the run, and it must be the last");
  }
}

class Making {
  readonly #run: RunState;
  readonly #now: number;
  readonly #events: (CommandEvent | ExternalEvent)[] = [];
  readonly #timers: CommandEvent[] = [];
  readonly #repeated = new Set<number>();
  #next: number;
  #isWaitRepeated = false;
  #memo: Readonly<Record<string, unknown>>;
  #end: RunEndEvent | undefined;
  #queue: string | undefined;

  constructor(run: RunState, now: number) {
    this.#run = run;
    this.#now = now;
    this.#next = run.next;
    this.#memo = run.memo;
  }

  add(command: WorkerCommand): void {
    switch (command.kind) {
      case "schedule_activity": {
        const { name, input, options } = command;
        this.#step(command, (n) => ({ kind: "ActivityScheduled", n, name, input, options }));
        break;
      }
      case "start_timer": {
        const { seconds } = command;
        this.#step(command, (n) => ({ kind: "TimerScheduled", n, at: this.#now + seconds * 1_000, seconds }));
        break;
      }
      case "start_child_workflow": {
        const { type, input, queue, onParentClose, timeout, runTimeout } = command;
        this.#step(command, (n) => {
          const child = { type, workflowId: `${this.#run.runId}-${n}`, input, onParentClose };
          return { kind: "ChildWorkflowScheduled", n, ...child, queue, timeout, runTimeout };
        });
        break;
      }
      case "open_condition_wait":
      case "open_signal_wait":
        this.#wait(command);
        break;
      case "record_side_effect":
        this.#push({ kind: "SideEffectRecorded", n: this.#next++, result: command.result });
        break;
      case "record_version_marker": {
        const { change, version, min, max } = command;
        this.#push({ kind: "VersionMarkerRecorded", n: this.#next++, change, version, min, max });
        break;
      }
      case "upsert_search_attributes":
        this.#push({ kind: "SearchAttributesUpserted", n: this.#next++, attributes: command.attributes });
        break;
      case "upsert_memo":
        this.#memo = checkMemo(this.#memo, command.entries);
        this.#push({ kind: "MemoUpserted", n: this.#next++, entries: command.entries });
        break;
      case "record_local_activity":
        this.#local(command);
        break;
      case "cancel_selection_operation":
        this.#cancelMember(command);
        break;
      case "complete_update":
      case "fail_update":
        this.#update(command);
        break;
      default:
        this.#finish(command);
    }
  }

  end(): Decided {
    const { wait, open } = this.#run;
    const isOnlyUpdates = this.#events.every(({ kind }) => kind.startsWith("Update"));
    const isUpdate = isOnlyUpdates && this.#events.length > 0;
    const isCancel = this.#events.some(({ kind }) => kind === "SelectionMemberCancelled");
    const waits = open.size > 0 || this.#opensSome || isCancel || (wait !== undefined && isOnlyUpdates);
    // No event would ever wake the run again.
    if (!waits && !isUpdate && this.#end === undefined) {
      throw new LimpetError("WORKFLOW_INVALID", "the run would wait for nothing; it needs a step, a wait or an end");
    }
    // A run that makes progress has passed its wait. At the end of a run all its timers are cancelled anyway.
    if (wait?.timer !== undefined && !this.#isWaitRepeated && !isOnlyUpdates && this.#end === undefined) {
      this.#timers.push({ kind: "TimerCancelled", n: 0, of: wait.timer });
    }
    return { events: this.#events, timers: this.#timers, end: this.#end, queue: this.#queue };
  }

  get #opensSome(): boolean {
    return this.#events.some(({ kind }) => /^(Activity|Timer|ChildWorkflow)Scheduled$|WaitOpened$/.test(kind));
  }

  #push(event: CommandEvent | ExternalEvent): void {
    this.#events.push(event);
  }

  #step(command: WorkerCommand & InGroup, decisionOf: (n: number) => StepCommand): void {
    const { group } = command;
    const again = this.#run.latest.find((n) => !this.#repeated.has(n) && this.#isSame(n, command, group));
    if (again !== undefined) {
      this.#repeated.add(again);
      return;
    }
    // The worker counted from the base of the group.
    if (group !== undefined && group.index === 0 && group.base > this.#next) this.#next = group.base;
    const decision = decisionOf(this.#next++);
    this.#push(group === undefined ? decision : { ...decision, group });
  }

  /** Matches open steps of the latest commands. Of a repeated group, closed steps match as well. */
  #isSame(n: number, command: WorkerCommand, group: ParallelGroup | undefined): boolean {
    const step = this.#run.steps.get(n);
    if (step === undefined || !isSameKind(step, command)) return false;
    if (group === undefined) return step.group === undefined && this.#run.open.has(n);
    const before = step.group;
    if (before === undefined || before.size !== group.size || before.index !== group.index) return false;
    // Members of a selection stay open after it, and the next selection may look the same.
    if (selectionOf(group)?.id !== selectionOf(before)?.id) return false;
    return this.#run.latest.some((each) => this.#run.open.has(each));
  }

  #wait(command: Extract<WorkerCommand, { kind: "open_condition_wait" | "open_signal_wait" }>): void {
    const { seconds } = command;
    const n = this.#next++;
    const before = isSameWait(this.#run.wait, command) ? this.#run.wait : undefined;
    const timer = seconds === undefined ? undefined : (before?.timer ?? n);
    if (command.kind === "open_signal_wait") {
      this.#push({ kind: "SignalWaitOpened", n, name: command.name, seconds, timer });
    } else {
      const { key, fingerprint } = command;
      this.#push({ kind: "ConditionWaitOpened", n, key, fingerprint, seconds, timer });
    }
    if (timer === n) this.#timers.push({ kind: "TimerScheduled", n, at: this.#now + seconds! * 1_000 });
    if (before !== undefined) this.#isWaitRepeated = true;
  }

  /** The activity is complete when it is recorded: no worker gets it as a task. */
  #local({ name, input, outcome }: Extract<WorkerCommand, { kind: "record_local_activity" }>): void {
    const n = this.#next++;
    this.#push({ kind: "ActivityScheduled", n, name, input, local: true });
    this.#push(localEvent(n, outcome));
  }

  /** A member that has ended stays as it is. */
  #cancelMember({ selection, member, identity }: Extract<WorkerCommand, { kind: "cancel_selection_operation" }>): void {
    const known = selectionOf(this.#run.steps.get(member.base)?.group);
    const isKnown =
      known?.id === selection &&
      known.member.index === member.index &&
      known.member.size === member.size &&
      known.member.key === member.key &&
      identityOf(this.#run, known.member) === identity;
    if (!isKnown) throw new LimpetError("WORKFLOW_INVALID", `selection ${selection} has no such member to cancel`);
    const open = stepsOf(member).filter((n) => this.#run.open.has(n));
    if (open.length === 0 || this.#repeated.has(-member.base)) return;
    this.#repeated.add(-member.base);
    this.#push({ kind: "SelectionMemberCancelled", n: 0, base: member.base });
    this.#timers.push(...open.map((n) => stopOf(n, this.#run.steps.get(n)!)));
  }

  #update(command: Extract<WorkerCommand, { kind: "complete_update" | "fail_update" }>): void {
    const { id } = command;
    const accepted = this.#run.updates.get(id);
    if (accepted === undefined) throw new LimpetError("WORKFLOW_INVALID", `there is no update ${id} to be done`);
    const { wait } = this.#run;
    const { name, input } = accepted;
    this.#push({ kind: "UpdateApplied", id, name, input, wait: wait?.n });
    // An update is no step of the code, and must not shift the numbers of the steps.
    this.#push(
      command.kind === "complete_update"
        ? { kind: "UpdateCompleted", n: 0, id, result: command.result }
        : { kind: "UpdateFailed", n: 0, id, error: command.error },
    );
  }

  #finish(command: Extract<WorkerCommand, { kind: "complete_workflow" | "fail_workflow" | "continue_as_new" }>): void {
    const n = this.#next++;
    if (command.kind === "complete_workflow") {
      this.#end = { kind: "WorkflowCompleted", n, result: command.result };
    } else if (command.kind === "fail_workflow") {
      this.#end = endOf(this.#run, n, command.error);
    } else {
      const { type = this.#run.started.type, input, queue } = command;
      this.#queue = queue;
      this.#end = { kind: "WorkflowContinuedAsNew", n, type, input, runId: nextRunId(this.#run.runId) };
    }
    this.#push(this.#end);
  }
}

/** The code of a cancelled run ends after its cleanup with the exception that cancelled it. */
function endOf(run: RunState, n: number, error: SerializedError): RunEndEvent {
  if (run.delivered === undefined || error.error?.name !== CANCELLED_NAME) return { kind: "WorkflowFailed", n, error };
  const reason = run.cleanup?.reason || error.message;
  return { kind: "WorkflowCancelled", n, error: serializeError(new LimpetError("WORKFLOW_CANCELLED", reason)) };
}

function localEvent(of: number, outcome: LocalOutcome): ExternalEvent {
  if ("result" in outcome) return { kind: "ActivityCompleted", of, result: outcome.result };
  const { failed, error, attempts } = outcome;
  if (failed === "timed out") return { kind: "ActivityTimedOut", of, error };
  return failed === "cancelled"
    ? { kind: "ActivityCancelled", of, error }
    : { kind: "ActivityFailed", of, error, attempts };
}

function isSameKind(step: StepCommand, command: WorkerCommand): boolean {
  switch (command.kind) {
    case "schedule_activity":
      return step.kind === "ActivityScheduled" && step.name === command.name && isSameInput(step, command);
    case "start_timer":
      return step.kind === "TimerScheduled" && step.seconds === command.seconds;
    case "start_child_workflow":
      return step.kind === "ChildWorkflowScheduled" && step.type === command.type && isSameInput(step, command);
    default:
      return false;
  }
}

const isSameInput = (a: { readonly input: Wire }, b: { readonly input: Wire }): boolean =>
  JSON.stringify(a.input) === JSON.stringify(b.input);

function isSameWait(
  wait: RunState["wait"],
  command: Extract<WorkerCommand, { kind: "open_condition_wait" | "open_signal_wait" }>,
): boolean {
  if (wait === undefined || wait.seconds !== command.seconds) return false;
  if (wait.kind === "SignalWaitOpened") return command.kind === "open_signal_wait" && wait.name === command.name;
  return command.kind === "open_condition_wait" && wait.key === command.key && wait.fingerprint === command.fingerprint;
}

/** A remote error, as histories record it. */
export const serializedFrom = (message: string, name: string | undefined): SerializedError => ({
  errorCode: "ACTOR_FAILED",
  message,
  retry: CATALOGUE.ACTOR_FAILED.retry,
  error: { name: name ?? "Error" },
});
