// Processes that deliver reminders from one virtual database. Time passes on demand of the test.
import assert from "node:assert/strict";
import { Prng } from "../kernel/prng.ts";
import { silentLog } from "../ports/log.ts";
import { silentMeter } from "../ports/meter.ts";
import type { ReminderOptions } from "../ports/reminder-options.ts";
import type { ReminderKey, Reminders, StoredReminder } from "../ports/store/reminders.ts";
import type { ClockTroubles } from "../world/local-clock.ts";
import type { Process } from "../world/process.ts";
import { KIND } from "../world/timeline.ts";
import { World } from "../world/world.ts";
import type { TickDelivery } from "./delivery.ts";
import { reminderInstruments } from "./metrics.ts";
import { Processor, type ProcessorSettings } from "./processor.ts";
import { StoreClock } from "./store-clock.ts";
import { BatchedReminderWriter } from "./writer.ts";

export const key = (name: string, type = "Bell", id = "a"): ReminderKey => ({ namespace: "default", type, id, name });

/** The times of the deliveries. */
export const moments = (delivered: readonly string[]): number[] => delivered.map((text) => Number(text.split("@")[1]));
/** The numbers of the delivered ticks. */
export const numbers = (delivered: readonly string[]): number[] =>
  delivered.map((text) => Number(/ (\d+)@/.exec(text)![1]));

/** A delivery takes a moment to leave. */
export function assertPunctual(actual: readonly number[], expected: readonly number[], lateMs = 5): void {
  const isFine =
    actual.length === expected.length && actual.every((at, i) => at >= expected[i]! && at <= expected[i]! + lateMs);
  assert.ok(isFine, `${JSON.stringify(actual)} are not ${JSON.stringify(expected)}`);
}

export interface TestHostOptions extends Partial<ProcessorSettings> {
  readonly types?: readonly string[];
  readonly clock?: ClockTroubles;
  /** Only sets reminders, and delivers none. */
  readonly isIdle?: boolean;
}

/** "settled": the handler has settled the tick itself. */
export type Handler = (delivery: TickDelivery) => unknown;

const SETTINGS: ProcessorSettings = {
  namespace: "default",
  pollMs: 2_500,
  aheadMs: 5_000,
  batchSize: 500,
  leaseMs: 30_000,
  concurrency: 1_000,
};

/** One process of a bench. */
export class TestHost {
  readonly process: Process;
  readonly processor: Processor;
  readonly writer: BatchedReminderWriter;
  readonly store: Reminders;
  /** The deliveries and their times since the beginning of the bench: `tea 1@2000`. */
  readonly delivered: string[] = [];
  /** Lateness in seconds, as the processor measures it. */
  readonly late: number[] = [];
  types: readonly string[];
  /** The handler of all reminders. */
  handler: Handler = () => {};

  constructor(bench: Bench, process: Process, options: TestHostOptions) {
    const { types = ["Bell"], clock: _, isIdle = false, ...settings } = options;
    this.process = process;
    this.types = types;
    this.store = process.store.reminders;
    const { clock } = process;
    const storeClock = new StoreClock(clock);
    this.processor = new Processor(
      { ...SETTINGS, ...settings },
      {
        clock,
        random: new Prng(`desk ${process.number}`),
        log: silentLog,
        store: this.store,
        storeClock,
        instruments: {
          ...reminderInstruments(silentMeter, "default"),
          late: (seconds) => void this.late.push(seconds),
        },
        types: () => this.types,
        delivers: (type) => this.types.includes(type),
        deliver: async (delivery) => {
          const { reminder, tick } = delivery;
          this.delivered.push(`${reminder.key.name} ${tick.number}@${Math.floor(bench.now)}`);
          bench.began(delivery);
          try {
            return (await this.handler(delivery)) === "settled";
          } finally {
            bench.ended(delivery);
          }
        },
      },
    );
    this.writer = new BatchedReminderWriter({
      clock,
      random: new Prng(`book ${process.number}`),
      store: this.store,
      storeClock,
      patienceMs: 10_000,
      ownLease: (type, at) => (isIdle ? undefined : this.processor.ownLease(type, at)),
      unreserve: (type) => this.processor.unreserve(type),
      adopt: (reminder, lease, askedAt) => this.processor.adopt(reminder, lease, askedAt),
      expect: (at) => this.processor.expect(at),
      invalidate: (changed) => this.processor.invalidate(changed),
    });
    if (!isIdle) this.processor.start();
  }

  /** Sets a reminder as code in this process does. */
  async set(name: string, options: ReminderOptions, type?: string, id?: string): Promise<void> {
    await this.writer.write(this.writer.set(key(name, type, id), options));
  }

  async cancel(name: string): Promise<void> {
    await this.writer.write({ kind: "cancel", key: key(name) });
  }

  /** Waits by the clock of this process. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.process.clock.after(ms, resolve));
  }
}

export class Bench {
  readonly world = new World({ isDriven: true });
  /** The most concurrent deliveries of one reminder. */
  most = 0;
  claims = 0;
  readonly #inProgress = new Map<number, number>();
  #places = 0;

  constructor({ notifies = true }: { readonly notifies?: boolean } = {}) {
    this.world.database.sendsNotifications = notifies;
    this.world.database.watchers.push({ claimed: () => void this.claims++ });
  }

  get now(): number {
    return this.world.now;
  }

  get truth(): Reminders {
    return this.world.database.truth.reminders;
  }

  open(options: TestHostOptions = {}): TestHost {
    const place = ++this.#places;
    const process = this.world.newProcess(place, `machine-${place}`, options.clock ?? {}, new Prng(`place ${place}`));
    return new TestHost(this, process, options);
  }

  advance(ms: number): Promise<void> {
    return this.world.timeline.run(this.now + ms);
  }

  /** Lets time pass until the promise settles. */
  async during<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    work.then(end, end);
    await this.world.timeline.run(this.now + 600_000, () => isOver);
    return work;
  }

  at(ms: number, run: () => void): void {
    this.world.timeline.plan(ms, KIND.script, undefined, run);
  }

  /** The stored reminder, read past all faults. */
  stored(name: string, type?: string): Promise<StoredReminder | undefined> {
    return this.truth.get(key(name, type));
  }

  began({ reminder }: TickDelivery): void {
    const count = (this.#inProgress.get(reminder.generation) ?? 0) + 1;
    this.#inProgress.set(reminder.generation, count);
    this.most = Math.max(this.most, count);
  }

  ended({ reminder }: TickDelivery): void {
    this.#inProgress.set(reminder.generation, this.#inProgress.get(reminder.generation)! - 1);
  }
}
