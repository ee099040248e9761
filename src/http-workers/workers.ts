// Registers remote workers. The store has all of them, so a worker may talk to any host; this process caches
// recent ones. Drained builds are rows of the same table, under names that no worker can have.
import { LIMITS } from "../kernel/limits.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { StoredRun, StoredWorker, Workflows } from "../ports/store/workflows.ts";
import { mayContinue, readPin } from "../workflows/definition/pins.ts";
import type { RunCacheFigures } from "../workflows/worker/run-cache.ts";
import { Refused } from "./refusal.ts";
import { type RemoteWorker, readWorker, remoteCode, workerRow } from "./worker.ts";

/** The description that a worker sends, without the fields that the host sets. */
export type WorkerRegistration = Omit<RemoteWorker, "since" | "isDraining">;

export interface RemoteWorkersDeps {
  readonly clock: Clock;
  readonly store: Workflows;
  readonly namespace: string;
  /** Sticky execution is enabled. */
  readonly isSticky: boolean;
  /** The store's clock. */
  now(): number;
}

export const HEARTBEAT_SECONDS = 10;
export const STALE_SECONDS = 30;
const STALE_MS = STALE_SECONDS * 1_000;
/** The longest time for which cached workers and drained builds are used. */
const FRESH_MS = 5_000;
/** A worker without a heartbeat for this long is removed. */
const KEPT_MS = 24 * 3_600_000;
const TIDY_MS = 3_600_000;
/** Builds that may be drained at the same time. */
const MOST_DRAINED = 1_000;
/** Old rows that one sweep removes. */
const REMOVED_AT_ONCE = 100;
const DRAIN_MARK = "$drain ";
/** Cache numbers that only grow while the process lives. */
const COUNTERS = ["hits", "misses", "forced", "evictions"] as const;

interface Known {
  worker: RemoteWorker;
  at: number;
}

export class RemoteWorkers {
  readonly #deps: RemoteWorkersDeps;
  readonly #known = new Map<string, Known>();
  /** Cache numbers that are not written yet. */
  readonly #unwritten = new Map<string, Partial<RunCacheFigures>>();
  #drained: { readonly names: ReadonlySet<string>; readonly at: number } | undefined;

  #tidying: Timer | undefined;

  constructor(deps: RemoteWorkersDeps) {
    this.#deps = deps;
  }

  /** Removes rows of dead workers, also where no other request reads the rows. */
  keepTidy(): void {
    this.#tidying?.cancel();
    this.#tidying = this.#deps.clock.after(
      TIDY_MS,
      () => {
        this.keepTidy();
        // If the store fails, the next sweep is early enough.
        this.rows().catch(() => {});
      },
      "background",
    );
  }

  stop(): void {
    this.#tidying?.cancel();
  }

  /**
   * Registers or updates a worker. If another process had this id, its tasks and affinities are released
   * first.
   */
  async register(reported: WorkerRegistration): Promise<RemoteWorker> {
    const rows = await this.rows();
    const before = rows.find(({ worker }) => worker === reported.id);
    if (before === undefined && rows.length >= LIMITS.workers) {
      const why = `${rows.length} workers are registered, which is the limit; remove some, or wait a day until dead workers are removed`;
      throw new Refused(429, "too_many_workers", why);
    }
    const old = before === undefined ? undefined : readWorker(before);
    const isLive = before !== undefined && before.seenAt + STALE_MS > this.#deps.now();
    if (before !== undefined && old === undefined) {
      throw new Refused(409, "worker_id_in_use", `worker id ${reported.id} is that of a worker of this system`);
    }
    if (old !== undefined && isLive) checkFingerprints(old, reported);
    const isReplaced = old !== undefined && (isOtherProcess(old, reported) || !isSameCode(old, reported));
    if (isReplaced) await this.#release(reported.id, isOtherProcess(old, reported));
    const since = old === undefined || isReplaced ? this.#deps.now() : old.since;
    const worker = { ...reported, since, isDraining: await this.isDrained(reported.queue, reported.build) };
    this.#unwritten.delete(worker.id);
    await this.#write(worker);
    return worker;
  }

  /** Throws when no worker has registered under that id. */
  async get(id: string): Promise<RemoteWorker> {
    const known = this.#known.get(id);
    if (known !== undefined && this.#deps.clock.monotonic() - known.at < FRESH_MS) return known.worker;
    const worker = await this.#read(id, 412);
    // A poll proves that the worker is alive, even without heartbeats.
    await this.#write({ ...worker, isDraining: await this.isDrained(worker.queue, worker.build) });
    return this.#known.get(id)!.worker;
  }

  /** Reads the current row, which any host may have written. */
  async #read(id: string, status: number): Promise<RemoteWorker> {
    const row = (await this.rows()).find(({ worker }) => worker === id);
    const worker = row === undefined ? undefined : readWorker(row);
    if (worker !== undefined) return worker;
    this.#known.delete(id);
    throw new Refused(status, "worker_not_registered", `worker ${id} is not registered`, { worker_id: id });
  }

  /** From the cache of this process. */
  isKnownToRun(id: string, type: string): boolean {
    return this.#known.get(id)?.worker.workflowTypes.includes(type) === true;
  }

  async heartbeat(id: string, reported: Pick<RemoteWorker, "slots" | "process">, cache: Partial<RunCacheFigures>) {
    const before = await this.#sameProcess(id, reported);
    const worker = {
      ...before,
      slots: mergedFields(before.slots, reported.slots),
      process: mergedFields(before.process, reported.process),
      isDraining: await this.isDrained(before.queue, before.build),
    };
    const missed = this.recordFigures(before, cache);
    await this.#write(worker);
    return { worker, missed };
  }

  /** Throws when another process has registered under that id since. */
  async #sameProcess(id: string, reported: Pick<RemoteWorker, "process">): Promise<RemoteWorker> {
    const worker = await this.#read(id, 404);
    if (!isOtherProcess(worker, reported)) return worker;
    const what = `another process has registered as worker ${id} since; every process needs an id of its own`;
    throw new Refused(409, "worker_registration_superseded", what, { worker_id: id });
  }

  /**
   * Records the cache counters of a worker; the next write of the worker persists them. Returns the number of
   * new misses. The first counters after a registration cover the whole process, and lower counters than the
   * known ones are late. Neither counts.
   */
  recordFigures({ id, cache: before, isCounted }: RemoteWorker, cache: Partial<RunCacheFigures>): number {
    if (Object.keys(cache).length === 0) return 0;
    const unwritten = this.#unwritten.get(id);
    const known = { ...before, ...unwritten };
    const isFirst = isCounted !== true && unwritten?.misses === undefined;
    const isLate = COUNTERS.some((name) => (cache[name] ?? known[name]) < known[name]);
    if (!isFirst && isLate) return 0;
    this.#unwritten.set(id, { ...unwritten, ...cache });
    return isFirst ? 0 : (cache.misses ?? known.misses) - known.misses;
  }

  async #write(worker: RemoteWorker): Promise<void> {
    const { store, namespace, isSticky, clock } = this.#deps;
    const unwritten = this.#unwritten.get(worker.id);
    this.#unwritten.delete(worker.id);
    const isCounted = worker.isCounted === true || unwritten?.misses !== undefined;
    const latest =
      unwritten === undefined ? worker : { ...worker, isCounted, cache: { ...worker.cache, ...unwritten } };
    const row = workerRow(namespace, latest, isSticky);
    if (row.about.length > LIMITS.workerBytes) {
      const why = `the description of worker ${worker.id} has more than ${LIMITS.workerBytes} characters`;
      throw new Refused(413, "worker_description_too_large", why);
    }
    await store.seen(row);
    this.#known.set(worker.id, { worker: latest, at: clock.monotonic() });
  }

  /** Releases the worker's tasks and affinities. Returns the number of tasks. */
  #release(id: string, isDead: boolean): Promise<number> {
    return this.#deps.store.releaseWorker(this.#deps.namespace, id, isDead);
  }

  /** Removes the worker. Returns the number of its tasks; undefined: it was not registered. */
  async forget(id: string): Promise<number | undefined> {
    const row = (await this.rows()).find(({ worker }) => worker === id);
    this.#known.delete(id);
    this.#unwritten.delete(id);
    if (row === undefined) return undefined;
    // One of our own processes returns its tasks itself, or is still alive.
    const released = readWorker(row) === undefined ? 0 : await this.#release(id, false);
    await this.#deps.store.forgetWorker(this.#deps.namespace, id);
    return released;
  }

  /** Workers of all kinds, without the rows of drained builds. */
  async rows(): Promise<StoredWorker[]> {
    const { store, namespace, clock } = this.#deps;
    const rows = await store.workers(namespace);
    const names = new Set(rows.map(({ worker }) => worker).filter((name) => name.startsWith(DRAIN_MARK)));
    this.#drained = { names, at: clock.monotonic() };
    const workers = rows.filter(({ worker }) => !names.has(worker));
    const oldest = this.#deps.now() - KEPT_MS;
    const old = workers.filter(({ seenAt }) => seenAt < oldest);
    if (old.length === 0) return workers;
    await this.#remove(old.slice(0, REMOVED_AT_ONCE));
    return workers.filter(({ seenAt }) => seenAt >= oldest);
  }

  /** Their leases and affinities ended long ago. A worker that comes back registers again. */
  async #remove(old: readonly StoredWorker[]): Promise<void> {
    const { store, namespace } = this.#deps;
    for (const { worker } of old) {
      this.#known.delete(worker);
      this.#unwritten.delete(worker);
      await store.forgetWorker(namespace, worker);
    }
  }

  isLive(row: StoredWorker): boolean {
    return row.seenAt + STALE_MS > this.#deps.now();
  }

  get staleMs(): number {
    return STALE_MS;
  }

  /** Live workers that may claim that run. */
  async thatRun({ queue, pinned, type }: StoredRun): Promise<RemoteWorker[]> {
    const pin = readPin(pinned);
    const rows = (await this.rows()).filter((row) => row.queue === queue && !row.isDraining && this.isLive(row));
    const workers = rows.map(readWorker).filter((worker) => worker !== undefined);
    return workers.filter(
      (worker) => worker.workflowTypes.includes(type) && mayContinue(pin, type, remoteCode(worker)),
    );
  }

  // ——— Drained builds.

  async drain(queue: string, build: string): Promise<void> {
    const { store, namespace } = this.#deps;
    if (!(await this.isDrained(queue, build)) && this.#drained!.names.size >= MOST_DRAINED) {
      throw new Refused(
        429,
        "too_many_drained_builds",
        `${MOST_DRAINED} builds are drained, which is the limit; resume builds that no longer exist`,
      );
    }
    const nothing = { isSticky: false, isDraining: true, about: JSON.stringify({ types: [], fingerprints: {} }) };
    await store.seen({ namespace, worker: drainName(queue, build), queue, build, ...nothing });
    // Other workers may take its runs at once, before it learns of the drain.
    for (const { seenAt, ...row } of await this.rows()) {
      const isMeant = row.queue === queue && row.build === build && !row.isDraining;
      if (isMeant && seenAt + STALE_MS > this.#deps.now()) await store.seen({ ...row, isDraining: true });
    }
    this.#forgetAll();
  }

  async resume(queue: string, build: string): Promise<void> {
    const { store, namespace } = this.#deps;
    await store.forgetWorker(namespace, drainName(queue, build));
    this.#forgetAll();
  }

  #forgetAll(): void {
    this.#drained = undefined;
    this.#known.clear();
  }

  async isDrained(queue: string, build: string): Promise<boolean> {
    if (this.#drained === undefined || this.#deps.clock.monotonic() - this.#drained.at >= FRESH_MS) await this.rows();
    return this.#drained!.names.has(drainName(queue, build));
  }

  async drainedBuilds(queue: string): Promise<string[]> {
    await this.rows();
    const start = drainName(queue, "");
    return [...this.#drained!.names].filter((name) => name.startsWith(start)).map((name) => name.slice(start.length));
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Keeps the latest fields; changing names must not make the row grow without end. */
function mergedFields(before: Fields, reported: Fields): Fields {
  const all = { ...before, ...reported };
  const names = [...new Set([...Object.keys(reported), ...Object.keys(before)])].slice(0, LIMITS.workerFields);
  return Object.fromEntries(names.map((name) => [name, all[name]]));
}

/** Neither part contains a line break. */
const drainName = (queue: string, build: string): string => `${DRAIN_MARK}${JSON.stringify(queue)} ${build}`;

function checkFingerprints(old: RemoteWorker, reported: WorkerRegistration): void {
  for (const [type, fingerprint] of Object.entries(reported.fingerprints)) {
    if (fingerprintOf(old, type, fingerprint) === fingerprint) continue;
    const what = `worker ${reported.id} is active with another definition of ${type}; give a changed worker another id`;
    throw new Refused(409, "workflow_definition_changed", what, { workflow_type: type });
  }
}

/** Runs in memory of other code are useless for the new code. */
const isSameCode = (old: RemoteWorker, { build, fingerprints }: WorkerRegistration): boolean =>
  old.build === build &&
  Object.entries(fingerprints).every(([type, print]) => fingerprintOf(old, type, print) === print);

const fingerprintOf = ({ fingerprints }: RemoteWorker, type: string, otherwise: string): string =>
  (Object.hasOwn(fingerprints, type) ? fingerprints[type] : undefined) ?? otherwise;

function isOtherProcess(old: RemoteWorker, reported: Pick<RemoteWorker, "process">): boolean {
  return ["process_id", "process_started_at", "host"].some((word) => {
    const [before, now] = [old.process[word], reported.process[word]];
    return before !== undefined && now !== undefined && before !== now;
  });
}
