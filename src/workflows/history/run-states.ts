// Caches the runs of remote workers, and updates them by reading new events. A cached run may lack the latest
// events, but is never wrong otherwise. Every use therefore starts from the store's last event number.
import { LimpetError } from "../../kernel/errors.ts";
import type { StoredRun, Workflows } from "../../ports/store/workflows.ts";
import { readEventBatch } from "../engine/events.ts";
import { RunState } from "./run-state.ts";

/** Bytes of a history in one read. */
const READ_BYTES = 4 * 1024 * 1024;

export class RunStates {
  readonly #store: Workflows;
  readonly #mostBytes: number;
  /** In order of use, the oldest first. */
  readonly #runs = new Map<number, { readonly run: RunState; readonly bytes: number }>();
  #bytes = 0;

  constructor(store: Workflows, mostBytes: number) {
    this.#store = store;
    this.#mostBytes = mostBytes;
  }

  /** The run with all events at least up to that number; undefined: all events. */
  async get(ref: number, last: number | undefined, runId?: string): Promise<RunState | undefined> {
    const found = this.#runs.get(ref)?.run;
    if (found !== undefined) this.forget(ref);
    // A restored store assigns refs again, so the cached run may be another one.
    const known = runId === undefined || found?.runId === runId ? found : undefined;
    // A cached run ahead of the store's last event is wrong, and is read anew.
    const run = known !== undefined && (last === undefined || known.last <= last) ? known : new RunState(ref);
    while (last === undefined || run.last < last) {
      const { batches, isCut } = await this.#store.history(ref, run.last, READ_BYTES);
      for (const { from, count, data } of batches) {
        if (from + count - 1 <= run.last) continue;
        if (from !== run.last + 1)
          throw new LimpetError("INVARIANT", `the history of ${ref} has a gap at ${run.last + 1}`);
        run.append(readEventBatch(data), data.length);
      }
      if (!isCut) break;
    }
    if (run.last === 0) return undefined;
    this.#keep(run);
    return run;
  }

  /** The run as it is stored; undefined: its history is gone. */
  async of({ ref, runId, events, pinned }: StoredRun): Promise<RunState | undefined> {
    const run = await this.get(ref, events, runId);
    if (run !== undefined) run.pinned = pinned;
    return run;
  }

  /** The cached run, which may be behind. */
  peek(ref: number): RunState | undefined {
    return this.#runs.get(ref)?.run;
  }

  /** Drops a cached run that is no longer valid. */
  forget(ref: number): void {
    const kept = this.#runs.get(ref);
    if (kept === undefined) return;
    this.#runs.delete(ref);
    this.#bytes -= kept.bytes;
  }

  #keep(run: RunState): void {
    this.forget(run.ref);
    const { bytes } = run;
    if (bytes > this.#mostBytes) return;
    this.#runs.set(run.ref, { run, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#runs.keys()) {
      if (this.#bytes <= this.#mostBytes) break;
      this.forget(oldest);
    }
  }
}
