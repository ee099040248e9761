// The workflows of an actor, as its code sees them. Starts and signals are buffered until the turn ends, and
// are stored in the same commit as the state, or not at all.
import { LimpetError } from "../../kernel/errors.ts";
import type { InputArgument, InputOptions } from "../../kernel/input-types.ts";
import type { TurnStart, WorkflowWriter } from "../../ports/workflow-writer.ts";
import type { TurnOutbox } from "./turn-outbox.ts";

/** A workflow made by `workflow(…)`, or its name. */
// biome-ignore lint/suspicious/noExplicitAny: any context and any result.
type WorkflowOf<Input> = { readonly name: string; readonly run: (ctx: any, input: Input) => any };
// biome-ignore lint/suspicious/noExplicitAny: any input.
type AnyStart = WorkflowOf<any> | string;
type StartArguments<W> =
  W extends WorkflowOf<infer Input> ? InputOptions<Input, Omit<TurnStart, "input">> : [options?: TurnStart];
interface NameOf<Input> {
  readonly signal: string;
  readonly input?: Input;
}
/** An explicit type argument applies only when the workflow is given by name. */
type SignalInput<Explicit, Given> = [Given] extends [NameOf<infer Input>]
  ? InputArgument<Input>
  : unknown extends Explicit
    ? [input?: unknown]
    : InputArgument<Explicit>;

export interface ActorWorkflows {
  /** Starts a workflow when this turn commits, unless one of that id runs already. Returns its id. */
  start<W extends AnyStart>(workflow: W, ...options: StartArguments<W>): Promise<string>;
  /** Signals the open run of a workflow when this turn commits. Without an open run the signal is dropped. */
  signal<Input = unknown, Name extends NameOf<unknown> | string = NameOf<Input> | string>(
    workflowId: string,
    name: Name,
    ...input: SignalInput<Input, Name>
  ): Promise<void>;
  /** Requests the cancellation of a workflow when this turn commits. */
  cancel(workflowId: string, reason?: string): Promise<void>;
}

export class TurnWorkflows implements ActorWorkflows {
  readonly #writer: WorkflowWriter | undefined;
  readonly #outbox: () => TurnOutbox;

  /** `outbox` returns the outbox of the running turn, and throws outside a turn. */
  constructor(writer: WorkflowWriter | undefined, outbox: () => TurnOutbox) {
    this.#writer = writer;
    this.#outbox = outbox;
  }

  get #known(): WorkflowWriter {
    if (this.#writer !== undefined) return this.#writer;
    throw new LimpetError("NOT_READY", "this process has no workflows");
  }

  async start(workflow: string | { readonly name: string }, options: TurnStart = {}): Promise<string> {
    const start = this.#known.start(typeof workflow === "string" ? workflow : workflow?.name, options);
    this.#outbox().start(start);
    return start.workflowId;
  }

  async signal(workflowId: string, name: string | NameOf<unknown>, input?: unknown): Promise<void> {
    this.#outbox().send(this.#known.signal(workflowId, typeof name === "string" ? name : name?.signal, input));
  }

  async cancel(workflowId: string, reason = ""): Promise<void> {
    this.#outbox().send(this.#known.cancel(workflowId, reason));
  }
}
