// Waits for the outcome of an update, which is an event in the history of the run. New events are read when
// this process writes some, and otherwise at growing intervals. The update is durable by then, so an
// unavailable store does not end the wait.
import { backoffMs } from "../../kernel/backoff.ts";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { deserializeError } from "../../kernel/serialized-error.ts";
import { fromWire } from "../../kernel/values.ts";
import type { Workflows } from "../../ports/store/workflows.ts";
import { type HistoryEvent, isEnd, readEventBatch } from "../engine/events.ts";
import { HISTORY_BYTES, nextOf, type RunReader } from "../worker/run-reader.ts";
import type { UpdateWatch } from "./update-watch.ts";

const FIRST_LOOK_MS = 5;
const LONGEST_LOOK_MS = 500;

export interface UpdateDeps {
  readonly store: Workflows;
  readonly reader: RunReader;
  readonly updates: UpdateWatch;
}

/** The events to search: of this run, after that number. */
export interface Look {
  readonly ref: number;
  readonly runId: string;
  readonly after: number;
}

export class UpdateCall {
  readonly #workflowId: string;
  readonly #id: string;
  readonly #deps: UpdateDeps;
  #look: Look;
  #isAccepted = false;

  constructor(workflowId: string, id: string, look: Look, deps: UpdateDeps) {
    this.#workflowId = workflowId;
    this.#id = id;
    this.#look = look;
    this.#deps = deps;
  }

  async answer(signal: AbortSignal | undefined): Promise<unknown> {
    for (let looks = 0; ; looks++) {
      const { ref } = this.#look;
      const answer = this.#deps.updates.of(ref);
      try {
        const event = await this.#lookOnce().catch(unlessAway);
        if (event?.kind === "UpdateCompleted") return fromWire(event.result);
        if (event?.kind === "UpdateFailed") throw deserializeError(event.error);
        if (event?.kind === "UpdateRejected") throw refused(event.error);
        if (this.#look.ref === ref) await answer.within(backoffMs(looks, FIRST_LOOK_MS, LONGEST_LOOK_MS));
      } finally {
        answer.end();
      }
      signal?.throwIfAborted();
    }
  }

  async #lookOnce(): Promise<HistoryEvent | undefined> {
    const { store } = this.#deps;
    const { ref } = this.#look;
    const { batches } = await store.history(ref, this.#look.after, HISTORY_BYTES);
    let isOver = batches.length === 0;
    for (const { from, count, data } of batches) {
      this.#look = { ...this.#look, after: from + count - 1 };
      for (const event of readEventBatch(data).events) {
        isOver ||= isEnd(event) || event.kind === "WorkflowTerminated" || event.kind === "WorkflowTimedOut";
        if (!isOfUpdate(event) || event.id !== this.#id) continue;
        this.#isAccepted = true;
        if (event.kind !== "UpdateAccepted" && event.kind !== "UpdateApplied") return event;
      }
    }
    if (isOver) await this.#checkThatItGoesOn();
    return undefined;
  }

  /**
   * An update that the continued run did not accept moves to the run that continues it; an accepted one is
   * lost.
   */
  async #checkThatItGoesOn(): Promise<void> {
    const { store, reader } = this.#deps;
    const run = await reader.find(this.#workflowId, this.#look.runId);
    const isOver = run.status !== "running" && (await store.history(run.ref, this.#look.after, 1)).batches.length === 0;
    if (!isOver) return;
    const next = nextOf(run);
    if (next === undefined || this.#isAccepted) {
      const how = next === undefined ? `ended (${run.status})` : "accepted the update, and continued as new";
      throw new LimpetError("WORKFLOW_CLOSED", `workflow ${this.#workflowId} ${how} before the update was done`);
    }
    const { ref, runId } = await reader.find(this.#workflowId, next);
    this.#look = { ref, runId, after: 0 };
  }
}

type UpdateEvent = Extract<HistoryEvent, { readonly kind: `Update${string}` }>;

/** Ids of signals and actors may equal the id of an update. */
const isOfUpdate = (event: HistoryEvent): event is UpdateEvent => event.kind.startsWith("Update");

/** The caller waits and reads again. */
function unlessAway(error: unknown): undefined {
  if (!isLimpetError(error, "STORE_UNAVAILABLE")) throw error;
}

function refused(serialized: unknown): Error {
  const error = deserializeError(serialized);
  if (isLimpetError(error, "UPDATE_UNKNOWN")) return error;
  return new LimpetError("UPDATE_REJECTED", error?.message ?? "the update was rejected", { cause: error });
}
