// Runs whose code is elsewhere, as far as this process has read them: a cache of what the store has, kept up to date by reading what is
// new. It is allowed to be wrong in no way but one: to end too early; so every look begins with the store's own last event.
import { LimpetError } from "../kernel/errors.ts";
import type { StoredRun, Workflows } from "../ports/store/workflows.ts";
import { readEventBatch } from "../workflows/engine/events.ts";
import { RemoteRun } from "./run.ts";

/** Bytes of a history that are read at a time. */
const READ_BYTES = 4 * 1024 * 1024;

export class RemoteRuns {
  readonly #store: Workflows;
  readonly #mostBytes: number;
  /** The one that was used longest ago first. */
  readonly #runs = new Map<number, { readonly run: RemoteRun; readonly bytes: number }>();
  #bytes = 0;

  constructor(store: Workflows, mostBytes: number) {
    this.#store = store;
    this.#mostBytes = mostBytes;
  }

  /** With all events up to that number at least; undefined: all there are. */
  async get(ref: number, last: number | undefined, runId?: string): Promise<RemoteRun | undefined> {
    const found = this.#runs.get(ref)?.run;
    if (found !== undefined) this.forget(ref);
    // A restored store assigns refs again, so what is kept may be another run.
    const known = runId === undefined || found?.runId === runId ? found : undefined;
    // One that is ahead of the store's last event cannot be; it is read anew.
    const run = known !== undefined && (last === undefined || known.last <= last) ? known : new RemoteRun(ref);
    while (last === undefined || run.last < last) {
      const { pages, isCut } = await this.#store.history(ref, run.last, READ_BYTES);
      for (const { from, count, data } of pages) {
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

  /** As it is stored; undefined: its history is gone. */
  async of({ ref, runId, events, bound }: StoredRun): Promise<RemoteRun | undefined> {
    const run = await this.get(ref, events, runId);
    if (run !== undefined) run.bound = bound;
    return run;
  }

  /** As it was seen last. */
  peek(ref: number): RemoteRun | undefined {
    return this.#runs.get(ref)?.run;
  }

  /** What was thought of it is not true any more. */
  forget(ref: number): void {
    const kept = this.#runs.get(ref);
    if (kept === undefined) return;
    this.#runs.delete(ref);
    this.#bytes -= kept.bytes;
  }

  #keep(run: RemoteRun): void {
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
