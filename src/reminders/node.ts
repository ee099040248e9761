// Connects a process to reminders: the writer for actors, the processor that delivers, and jobs, which are
// reminders without an actor.
import { LimpetError } from "../kernel/errors.ts";
import { checkJobName, JOB_MARK } from "../kernel/names.ts";
import type { ActorHost } from "../ports/actor-host.ts";
import type { Meter } from "../ports/meter.ts";
import type { ReminderOptions } from "../ports/reminder-options.ts";
import { handlerError, type ReminderInfo, type ReminderTick, readData, tickInfo } from "../ports/reminder-writer.ts";
import type { OwnLease, ReminderContent, ReminderKey } from "../ports/store/reminders.ts";
import type { TickDelivery } from "./delivery.ts";
import { ReminderGauges, reminderInstruments } from "./metrics.ts";
import { Processor, type ProcessorSettings } from "./processor.ts";
import type { ReminderPorts } from "./reminder-ports.ts";
import { looksLikeInstant } from "./schedule/instant.ts";
import { decodePlan } from "./schedule/plan.ts";
import { StoreClock } from "./store-clock.ts";
import { BatchedReminderWriter } from "./writer.ts";

export interface ReminderSettings extends ProcessorSettings {
  /** The process that sets a reminder delivers it if it is due soon. */
  readonly direct: boolean;
  readonly patienceMs: number;
  readonly drainMs: number;
}

export interface ReminderNodeDeps extends Omit<ReminderPorts, "storeClock" | "instruments"> {
  readonly meter: Meter;
  readonly catalog: ActorHost;
}

export type JobHandler = (data: unknown, tick: ReminderTick) => unknown;

/** Reminders due within this time count as due now. */
const NOW_MS = 100;

/** The key of a job's only reminder. */
const RUN = { id: "job", name: "run" };

export class ReminderNode {
  readonly writer: BatchedReminderWriter;
  readonly #settings: ReminderSettings;
  readonly #deps: ReminderNodeDeps;
  readonly #storeClock: StoreClock;
  readonly #processor: Processor;
  readonly #gauges: ReminderGauges;
  readonly #jobs = new Map<string, JobHandler>();
  #isStarted = false;

  constructor(settings: ReminderSettings, deps: ReminderNodeDeps) {
    this.#settings = settings;
    this.#deps = deps;
    const storeClock = new StoreClock(deps.clock);
    this.#storeClock = storeClock;
    this.#processor = new Processor(settings, {
      ...deps,
      storeClock,
      instruments: reminderInstruments(deps.meter, settings.namespace),
      types: () => this.#types(),
      delivers: (type) => this.#delivers(type),
      deliver: (delivery) => this.#deliver(delivery),
    });
    this.#gauges = new ReminderGauges(settings.namespace, { ...deps, size: () => this.#processor.size });
    this.writer = new BatchedReminderWriter({
      ...deps,
      storeClock,
      patienceMs: settings.patienceMs,
      ownLease: (type, at) => this.#ownLease(type, at),
      unreserve: (type) => this.#processor.unreserve(type),
      adopt: (reminder, lease, askedAt) => this.#processor.adopt(reminder, lease, askedAt),
      expect: (at) => this.#processor.expect(at),
      invalidate: (key) => this.#processor.invalidate(key),
    });
  }

  /**
   * Reads the store's time. Before that only the local wall clock is known, which may be wrong by any amount.
   * A reminder would be early by as much, and a workflow, whose time never goes back, late for good.
   */
  learnTime(): Promise<void> {
    return this.#processor.askTime();
  }

  start(): void {
    this.#isStarted = true;
    this.#processor.start();
  }

  /** Updates the gauges; called when the metrics are read. */
  measure(): void {
    if (this.#isStarted) this.#gauges.measure();
  }

  /** Returns reminders that have not begun, and waits for the rest. */
  async stop(): Promise<void> {
    this.#isStarted = false;
    await this.#processor.stop(this.#settings.drainMs);
  }

  /**
   * A host without a lease reaches no actors, although it may reach the store. Other hosts can deliver the
   * reminders that it would claim.
   */
  #reachesActors(): boolean {
    return this.#deps.catalog.mayBegin(this.#deps.clock.monotonic());
  }

  #types(): string[] {
    const types = this.#reachesActors() ? this.#deps.catalog.types.keys() : [];
    return [...types, ...[...this.#jobs.keys()].map((name) => JOB_MARK + name)];
  }

  #delivers(type: string): boolean {
    if (type.startsWith(JOB_MARK)) return this.#jobs.has(type.slice(JOB_MARK.length));
    return this.#reachesActors() && this.#deps.catalog.reaches(type);
  }

  /**
   * A host with actors of the type takes reminders that are due soon. Other processes take only reminders due
   * now: they may stop soon, and their lease would delay the delivery.
   */
  #ownLease(type: string, at: number): OwnLease | undefined {
    if (!this.#settings.direct || !this.#isStarted || !this.#delivers(type)) return undefined;
    const isOurs = type.startsWith(JOB_MARK) || this.#deps.catalog.types.has(type);
    if (!isOurs && at > this.#storeClock.now() + NOW_MS) return undefined;
    return this.#processor.ownLease(type, at);
  }

  #deliver(delivery: TickDelivery): Promise<boolean> {
    const { reminder, tick, settlement } = delivery;
    const { key, data } = reminder;
    if (key.type.startsWith(JOB_MARK)) return this.#run(delivery);
    return this.#deps.catalog.remind(key, data, tick, settlement);
  }

  async #run({ reminder, tick }: TickDelivery): Promise<boolean> {
    const name = reminder.key.type.slice(JOB_MARK.length);
    const data = readData(reminder.data);
    const handler = this.#jobs.get(name);
    if (handler === undefined) throw new LimpetError("NO_HOST", `this process has no job called ${name}`);
    try {
      await handler(data, tickInfo(tick));
    } catch (error) {
      throw handlerError(error);
    }
    return false;
  }

  /** The store's clock, as far as this process knows it. */
  storeNow(): number {
    return this.#storeClock.now();
  }

  /** Handles reminders of a type that is neither an actor's nor a job's. */
  serve(type: string, handler: JobHandler): void {
    this.#jobs.set(type.slice(JOB_MARK.length), handler);
    this.#processor.expect(Number.NEGATIVE_INFINITY);
  }

  // ——— Jobs.

  #jobKey(name: string): ReminderKey {
    checkJobName(name);
    return { namespace: this.#settings.namespace, type: JOB_MARK + name, ...RUN };
  }

  /** Registers the handler of a job, and writes its schedule unless the same one is stored. */
  async setJob(name: string, options: ReminderOptions | undefined, handler: JobHandler): Promise<void> {
    const key = this.#jobKey(name);
    if (typeof handler !== "function") throw new LimpetError("REMINDER_INVALID", `the job ${name} needs a handler`);
    const write = options === undefined ? undefined : this.writer.set(key, options);
    this.#jobs.set(name, handler);
    if (write === undefined || options === undefined) {
      this.#processor.expect(Number.NEGATIVE_INFINITY);
      return;
    }
    // Every process with the job writes its schedule. The same schedule must not restart the job, also when
    // two processes write at once.
    for (;;) {
      const stored = await this.#deps.store.get(key);
      if (stored !== undefined && isSame(stored, write.content, options, this.#storeClock.now())) {
        this.#processor.expect(stored.tick.at);
        return;
      }
      if (await this.writer.write({ ...write, isNew: stored === undefined })) return;
    }
  }

  async getJob(name: string): Promise<ReminderInfo | undefined> {
    const info = await this.writer.get(this.#jobKey(name));
    return info && { ...info, name };
  }

  /** Cancels the job for all processes. */
  async cancelJob(name: string): Promise<void> {
    const key = this.#jobKey(name);
    this.#jobs.delete(name);
    await this.writer.write({ kind: "cancel", key });
  }
}

/**
 * Two schedules that differ only in their start are the same: each process computes the start anew. A given
 * moment in the future is not computed, so there a difference counts.
 */
function isSame(
  stored: ReminderContent,
  given: ReminderContent,
  { due, until }: ReminderOptions,
  now: number,
): boolean {
  const [one, other] = [partsOf(stored), partsOf(given)];
  if (one?.rest !== other?.rest || stored.data !== given.data) return false;
  const isMoment = due instanceof Date || (typeof due === "string" && looksLikeInstant(due));
  const isFuture = isMoment && (other?.first ?? 0) > now;
  return (!isFuture || one?.first === other?.first) && (until === undefined || one?.until === other?.until);
}

/** Undefined: unreadable, and so different from every schedule. */
function partsOf(content: ReminderContent): { first: number; until: number | undefined; rest: string } | undefined {
  try {
    const { schedule, policy } = decodePlan(content.schedule);
    const { first, until, ...when } = schedule;
    return { first, until, rest: JSON.stringify([when, policy, until === undefined]) };
  } catch {
    return undefined;
  }
}
