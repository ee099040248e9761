// Implements `ctx` for the code of a workflow: checks the arguments and passes commands to the execution.
import { showValue } from "../../kernel/check.ts";
import { parseDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { checkId, checkMethod, checkType } from "../../kernel/names.ts";
import { Prng } from "../../kernel/prng.ts";
import { copyValue, toWire } from "../../kernel/values.ts";
import { serializeActivityOptions } from "../definition/activity-options.ts";
import { checkAttributes, presentAttributes } from "../definition/attributes.ts";
import { namesProblem } from "../definition/checked-options.ts";
import type {
  ActivityOptions,
  AttributeValue,
  Child,
  ChildOptions,
  OtherWorkflow,
  RunInfo,
  WorkflowContext,
} from "../definition/context.ts";
import { type AnyWorkflow, checked, checkWorkflowId } from "../definition/definition.ts";
import { Continued } from "./continued.ts";
import type { ParentClosePolicy, Wire } from "./events.ts";
import type { Execution } from "./execution.ts";
import { isContinueSuggested } from "./history-budget.ts";
import { inside, runInside } from "./inside.ts";
import { checkPayload } from "./payload-limits.ts";

const POLICIES: readonly ParentClosePolicy[] = ["terminate", "cancel", "abandon"];

const CHILD_NAMES: Record<keyof ChildOptions<unknown>, true> = {
  id: true,
  input: true,
  queue: true,
  onParentClose: true,
};

type Named = string | { readonly signal: string } | { readonly query: string } | { readonly update: string };

export class RunContext implements WorkflowContext {
  readonly #run: Execution;
  readonly #dice: Prng;

  constructor(run: Execution) {
    this.#run = run;
    this.#dice = new Prng(run.started.runId);
  }

  /**
   * The run, for calls that change it. A call from a query handler or validator is rejected: it would make
   * the run diverge from its history.
   */
  #acting(what: string): Execution {
    const where = inside();
    if (where?.isLooking === true) {
      const reader = where.isRecorded === true ? "a side effect" : "a query handler or an update validator";
      const message = `${reader} may read the run, and must not change it`;
      throw new LimpetError("WORKFLOW_MISUSED", `ctx.${what} inside of workflow ${where.workflow}: ${message}`);
    }
    return this.#run;
  }

  get info(): RunInfo {
    const { started, deps, events, bytes } = this.#run;
    return {
      namespace: deps.namespace,
      workflowId: started.workflowId,
      runId: started.runId,
      type: started.type,
      queue: deps.queue,
      historyEvents: events,
      historyBytes: bytes,
      continueAsNewSuggested: isContinueSuggested({ events, bytes }),
    };
  }

  activity(activity: string | object, input?: unknown, options?: ActivityOptions): Promise<never> {
    const run = this.#acting("activity()");
    const { deps } = run;
    const name = typeof activity === "string" ? activity : deps.nameOf(activity);
    if (name === undefined) {
      const why = deps.whyUnknown?.(activity as object) ?? "it has no name";
      return run.refuse(new LimpetError("ACTIVITY_UNKNOWN", `ctx.activity: ${why}`));
    }
    const recorded = serializeActivityOptions(options);
    return run.ask({
      kind: "ActivityScheduled",
      name: checked("activity", name),
      input: payload(input, "the input"),
      ...(recorded !== undefined && { options: recorded }),
    }) as Promise<never>;
  }

  actor(of: string | { readonly name: string; readonly options?: object }, id: string): never {
    const type =
      typeof of === "string" ? of : ((of.options as { readonly name?: string } | undefined)?.name ?? of.name);
    checkType(type);
    checkId(id);
    const acting = (): Execution => this.#acting("actor()");
    acting();
    return new Proxy(Object.create(null), {
      get(_, method) {
        // `await` on the actor itself must not become a call.
        if (typeof method !== "string" || method === "then") return undefined;
        checkMethod(method);
        return (...args: unknown[]) => {
          const input = payload(args, "the arguments");
          // Checked at the call: the code may pass the actor to a query handler.
          return acting().ask({ kind: "ActorCalled", type, id, method, input });
        };
      },
    }) as never;
  }

  async sleep(duration: string | number): Promise<void> {
    await this.#sleepUntil(this.#run.now + parseDuration(duration, "sleep"));
  }

  async until(moment: Date | number): Promise<void> {
    const at = Number(moment);
    if (!Number.isFinite(at)) throw new LimpetError("WORKFLOW_INVALID", `until: ${String(moment)} is not a moment`);
    await this.#sleepUntil(Math.ceil(at));
  }

  async #sleepUntil(at: number): Promise<void> {
    await this.#acting("sleep()").ask({ kind: "TimerScheduled", at });
  }

  signal(name: Named, options?: { readonly within: string | number }): Promise<never> {
    const within = options?.within === undefined ? undefined : parseDuration(options.within, "within");
    return this.#acting("signal()").nextSignal(nameOf("signal", name), within) as Promise<never>;
  }

  onSignal(name: Named, handler: (input: never) => unknown): void {
    const run = this.#acting("onSignal()");
    run.handlers.onSignal(nameOf("signal", name), checkFunction("onSignal", handler));
  }

  condition(test: () => boolean, options?: { readonly within?: string | number }): Promise<boolean> {
    const within = options?.within === undefined ? undefined : parseDuration(options.within, "within");
    return this.#acting("condition()").until(checkFunction("condition", test), within);
  }

  onQuery(name: Named, handler: (input: never) => unknown): void {
    const run = this.#acting("onQuery()");
    run.handlers.onQuery(nameOf("query", name), checkFunction("onQuery", handler));
  }

  onUpdate(
    name: Named,
    handler: (input: never) => unknown,
    options?: { readonly validate?: (input: never) => void },
  ): void {
    const { validate } = options ?? {};
    this.#acting("onUpdate()").handlers.onUpdate(nameOf("update", name), {
      handle: checkFunction("onUpdate", handler),
      validate: validate && checkFunction("onUpdate: validate", validate),
    });
  }

  child(of: string | AnyWorkflow, options: ChildOptions<unknown> = {}): Child<never> {
    const run = this.#acting("child()");
    const problem = namesProblem(options, CHILD_NAMES);
    if (problem !== undefined) throw new LimpetError("WORKFLOW_INVALID", `the options of a child: ${problem}`);
    const type = checked("workflow", typeof of === "string" ? of : of?.name);
    const workflowId = options.id ?? this.#childId();
    checkWorkflowId(workflowId);
    const n = run.decide({
      kind: "ChildWorkflowScheduled",
      type,
      workflowId,
      input: payload(options.input, "the input"),
      ...(options.queue !== undefined && { queue: checked("queue", options.queue) }),
      onParentClose: policyOf(options.onParentClose),
    });
    const other = this.workflow(workflowId);
    return Object.assign(run.answerTo(n, "ChildWorkflowScheduled"), { workflowId, ...other }) as Child<never>;
  }

  #children = 0;

  #childId(): string {
    const { workflowId } = this.#run.started;
    const own = this.#dice.child(`child ${this.#children++}`).id();
    const named = `${workflowId}.${own.slice(0, 8)}`;
    return Buffer.byteLength(named) > LIMITS.idBytes ? own : named;
  }

  workflow(workflowId: string): OtherWorkflow {
    checkWorkflowId(workflowId);
    const acting = (): Execution => this.#acting("workflow()");
    acting();
    return {
      signal(name: string | { readonly signal: string }, input?: unknown) {
        const wire = payload(input, "the input");
        acting().decide({ kind: "SignalSent", workflowId, name: nameOf("signal", name), input: wire });
      },
      cancel() {
        acting().decide({ kind: "CancelSent", workflowId });
      },
    };
  }

  sideEffect<Value>(fn: () => Value): Value {
    return this.#acting("sideEffect()").sideEffect(checkFunction("sideEffect", fn)) as Value;
  }

  now(): number {
    return this.#run.now;
  }

  random(): number {
    this.#acting("random()");
    return this.#dice.number();
  }

  uuid(): string {
    this.#acting("uuid()");
    const digits = Array.from({ length: 32 }, () => Math.floor(this.#dice.number() * 16).toString(16));
    digits[12] = "4";
    digits[16] = "89ab"[Math.floor(this.#dice.number() * 4)]!;
    return [0, 8, 12, 16, 20].map((from, i, all) => digits.slice(from, all[i + 1]).join("")).join("-");
  }

  version(change: string, min: number, max: number): number {
    checked("change", change);
    if (!Number.isInteger(min) || !Number.isInteger(max) || min > max) {
      throw new LimpetError("WORKFLOW_INVALID", `version ${change}: ${min} to ${max} are no versions`);
    }
    return this.#acting("version()").version(change, min, max);
  }

  get memo(): Readonly<Record<string, unknown>> {
    return this.#run.memo;
  }

  setMemo(entries: Readonly<Record<string, unknown>>): void {
    const run = this.#acting("setMemo()");
    if (typeof entries !== "object" || entries === null || Array.isArray(entries)) {
      throw new LimpetError("WORKFLOW_INVALID", "setMemo: the entries must be an object, such as { stage: 2 }");
    }
    const copy = copyValue(entries, "memo", "WORKFLOW_INVALID");
    const wire = toWire(copy, "memo", "WORKFLOW_INVALID");
    checkPayload(wire, "memo");
    run.decide({ kind: "MemoUpserted", entries: wire });
    run.memo = { ...run.memo, ...copy };
  }

  get attributes(): Readonly<Record<string, AttributeValue>> {
    return this.#run.attributes as Record<string, AttributeValue>;
  }

  setAttributes(attributes: Readonly<Record<string, AttributeValue>>): void {
    checkAttributes(attributes);
    const wire = toWire(attributes, "attributes", "WORKFLOW_INVALID");
    const run = this.#acting("setAttributes()");
    const all = presentAttributes({ ...run.attributes, ...attributes });
    checkAttributes(all);
    run.decide({ kind: "SearchAttributesUpserted", attributes: wire });
    run.attributes = all;
  }

  continueAsNew(input?: unknown): never {
    this.#acting("continueAsNew()");
    throw new Continued(payload(input, "the input"));
  }

  get isCancelled(): boolean {
    return this.#run.isCancelled;
  }

  shield<Value>(fn: () => Promise<Value>): Promise<Value> {
    checkFunction("shield", fn);
    // Code that only reads the run is rejected here as well.
    return runInside(this.#acting("shield()").inside({ isShielded: true }), fn);
  }
}

function nameOf(what: "signal" | "query" | "update", name: Named): string {
  return checked(what, typeof name === "string" ? name : (name as Record<string, string> | undefined)?.[what]);
}

/** Rejects a wrong argument where it is passed, not when it is used. */
function checkFunction<Given>(what: string, fn: (input: never) => Given): (input?: unknown) => Given {
  if (typeof fn === "function") return fn as (input?: unknown) => Given;
  throw new LimpetError("WORKFLOW_INVALID", `ctx.${what}: ${showValue(fn)} is not a function`);
}

function policyOf(onParentClose: ParentClosePolicy = "terminate"): ParentClosePolicy {
  if (POLICIES.includes(onParentClose)) return onParentClose;
  const message = `must be one of ${POLICIES.join(", ")}; got "${String(onParentClose)}"`;
  throw new LimpetError("WORKFLOW_INVALID", `onParentClose ${message}`);
}

/** A copy, because the code may change the value afterwards. */
const given = (value: unknown, what: string): Wire =>
  toWire(copyValue(value, what, "ARGUMENT_INVALID"), what, "ARGUMENT_INVALID");

function payload(value: unknown, what: string): Wire {
  const wire = given(value, what);
  checkPayload(wire, what);
  return wire;
}
