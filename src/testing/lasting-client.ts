// A workflow client for tests that outlives the processes it uses. After a crash it repeats a pending request
// at the next process, and ensures that nothing is done twice.

import { systemRandom } from "../host/system.ts";
import { isLimpetError } from "../kernel/errors.ts";
import type { InboxMessage } from "../ports/store/workflows.ts";
import {
  closed,
  type StartOptions,
  type UpdateOptions,
  type WorkflowClient,
  type WorkflowHandle,
} from "../workflows/client/client.ts";
import type { AnyWorkflow } from "../workflows/definition/definition.ts";
import { type GetArguments, runToGet } from "../workflows/definition/run-name.ts";
import { sendTo } from "../workflows/inbox/inbox-messages.ts";
import type { TestMachine } from "./test-machine.ts";
import type { TestProcess } from "./test-process.ts";

type Handle = WorkflowHandle<never>;

/** Tests use it like any other client. */
export const lastingClient = (machine: TestMachine): WorkflowClient =>
  new LastingClient(machine) as Record<keyof WorkflowClient, unknown> as WorkflowClient;

const clientOf = ({ app }: TestProcess): WorkflowClient => app.workflows;

class LastingClient {
  readonly #machine: TestMachine;

  constructor(machine: TestMachine) {
    this.#machine = machine;
  }

  get #now(): WorkflowClient {
    return clientOf(this.#machine.process);
  }

  async start(of: AnyWorkflow | string, options: StartOptions<unknown> = {}): Promise<Handle> {
    // Checks the name and generates a missing id once for all attempts.
    const id = this.#now.prepare(typeof of === "string" ? of : of?.name, options).start.workflowId;
    const before = options.id === undefined ? undefined : await this.#latestRun(id);
    let isFirst = true;
    const started = await this.#machine.ask(async (process) => {
      const client = clientOf(process);
      const latest = isFirst ? before : await this.#latestRun(id);
      isFirst = false;
      if (latest !== before) return client.get(id, { runId: latest });
      return client.start(of as string, { ...options, id });
    }, "ask again");
    return this.#handle(id, started.runId);
  }

  async #latestRun(id: string): Promise<string | undefined> {
    try {
      return (await this.#machine.ask((process) => clientOf(process).get(id).describe(), "ask again")).runId;
    } catch (error) {
      if (isLimpetError(error, "WORKFLOW_UNKNOWN")) return undefined;
      throw error;
    }
  }

  get(...args: GetArguments): Handle {
    const { id, runId } = runToGet(...args);
    return this.#handle(id, runId);
  }

  list(query: Parameters<WorkflowClient["list"]>[0]): ReturnType<WorkflowClient["list"]> {
    return this.#machine.ask((process) => clientOf(process).list(query), "ask again");
  }

  count(query: Parameters<WorkflowClient["count"]>[0]): Promise<number> {
    return this.#machine.ask((process) => clientOf(process).count(query), "ask again");
  }

  prepare(type: string, options: StartOptions<unknown>): ReturnType<WorkflowClient["prepare"]> {
    return this.#now.prepare(type, options);
  }

  signalTo(workflowId: string, runId: string | undefined, name: string, input: unknown): InboxMessage {
    return this.#now.signalTo(workflowId, runId, name, input);
  }

  cancelTo(workflowId: string, runId: string | undefined, reason: string): InboxMessage {
    return this.#now.cancelTo(workflowId, runId, reason);
  }

  #handle(id: string, runId: string | undefined): Handle {
    const ask = <T>(question: (handle: Handle) => Promise<T>): Promise<T> =>
      this.#machine.ask((process) => question(clientOf(process).get(id, { runId })), "ask again");
    return {
      id,
      runId,
      result: (options) => ask((handle) => handle.result(options)),
      signal: async (name: string | { readonly signal: string }, input?: unknown) =>
        this.#deliver(this.#now.signalTo(id, runId, typeof name === "string" ? name : name?.signal, input)),
      query: (name: unknown, input?: unknown) => ask((handle) => handle.query(name as string, input)) as never,
      // All attempts use the same update id.
      update: (name: unknown, input?: unknown, { id = systemRandom.id(), ...rest }: UpdateOptions = {}) =>
        ask((handle) => handle.update(name as string, input, { id, ...rest })) as never,
      cancel: (reason) => once(ask, (handle) => handle.cancel(reason)),
      terminate: (reason) => once(ask, (handle) => handle.terminate(reason)),
      describe: () => ask((handle) => handle.describe()),
      history: () => ask((handle) => handle.history()),
    };
  }

  /** All attempts deliver the same message, so a repeated one counts once. */
  async #deliver(message: InboxMessage): Promise<void> {
    await this.#machine.ask(async (process) => {
      const outcome = await sendTo(process.store.workflows, message);
      if (outcome.kind === "closed") throw closed(message.workflowId, outcome.status);
      process.workflows.worker.nudgeAll();
      process.workflows.remote.nudge();
    }, "ask again");
  }
}

type Asks = <T>(question: (handle: Handle) => Promise<T>) => Promise<T>;

/** Ends a run: if the run has ended at a repeated attempt, an earlier attempt did it. */
async function once(ask: Asks, end: (handle: Handle) => Promise<void>): Promise<void> {
  let attempts = 0;
  await ask(async (handle) => {
    attempts++;
    await end(handle).catch((error: unknown) => {
      if (attempts === 1 || !isLimpetError(error, "WORKFLOW_CLOSED")) throw error;
    });
  });
}
