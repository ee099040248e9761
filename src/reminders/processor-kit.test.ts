// Processes that deliver reminders from one virtual database. Time passes on demand of the test.
import { Prng } from "../kernel/prng.ts";
import { silentLog } from "../ports/log.ts";
import { silentMeter } from "../ports/meter.ts";
import type { ReminderOptions } from "../ports/reminder-options.ts";
import type { ReminderKey, Reminders, StoredReminder } from "../ports/store/reminders.ts";
import type { ClockTroubles } from "../world/local-clock.ts";
import type { Process } from "../world/process.ts";
import { KIND } from "../world/timeline.ts";
import { World } from "../world/world.ts";
import { reminderInstruments } from "./instruments.ts";
import { type Delivery, Processor, type ProcessorSettings } from "./processor.ts";
import { StoreClock } from "./store-clock.ts";
import { BatchedReminderWriter } from "./writer.ts";

export const key = (name: string, type = "Bell", id = "a"): ReminderKey => ({ namespace: "default", type, id, name });

export interface DeskOptions extends Partial<ProcessorSettings> {
  readonly types?: readonly string[];
  readonly clock?: ClockTroubles;
  /** Only sets reminders, and delivers none. */
  readonly isIdle?: boolean;
}

/** "settled": the handler has settled the tick itself. */
export type Handler = (delivery: Delivery) => unknown;

const SETTINGS: ProcessorSettings = {
  namespace: "default",
  pollMs: 2_500,
  aheadMs: 5_000,
  batchSize: 500,
  leaseMs: 30_000,
  concurrency: 1_000,
};

/** One process of a bench. */
export class Desk {
  readonly process: Process;
  readonly processor: Processor;
  readonly book: BatchedReminderWriter;
  readonly store: Reminders;
  /** The deliveries and their times since the beginning of the bench: `tea 1@2000`. */
  readonly delivered: string[] = [];
  /** Lateness in seconds, as the processor measures it. */
  readonly late: number[] = [];
  types: readonly string[];
  /** The handler of all reminders. */
  handler: Handler = () => {};

  constructor(bench: Bench, process: Process, options: DeskOptions) {
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
    this.book = new BatchedReminderWriter({
      clock,
      random: new Prng(`book ${process.number}`),
      store: this.store,
      storeClock,
      patienceMs: 10_000,
      ownLease: (type, at) => (isIdle ? undefined : this.processor.ownLease(type, at)),
      answered: (type) => this.processor.answered(type),
      holds: (reminder, lease, askedAt) => this.processor.adopt(reminder, lease, askedAt),
      wrote: (at) => this.processor.wrote(at),
      changed: (changed) => this.processor.changed(changed),
    });
    if (!isIdle) this.processor.start();
  }

  /** Sets a reminder as code in this process does. */
  async set(name: string, options: ReminderOptions, type?: string, id?: string): Promise<void> {
    await this.book.write(this.book.set(key(name, type, id), options));
  }

  async cancel(name: string): Promise<void> {
    await this.book.write({ kind: "cancel", key: key(name) });
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
  readonly #underWay = new Map<number, number>();
  #places = 0;

  constructor({ tells = true }: { readonly tells?: boolean } = {}) {
    this.world.database.tellsNews = tells;
    this.world.database.watchers.push({ claimed: () => void this.claims++ });
  }

  get now(): number {
    return this.world.now;
  }

  get truth(): Reminders {
    return this.world.database.truth.reminders;
  }

  open(options: DeskOptions = {}): Desk {
    const place = ++this.#places;
    const process = this.world.newProcess(place, `machine-${place}`, options.clock ?? {}, new Prng(`place ${place}`));
    return new Desk(this, process, options);
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

  began({ reminder }: Delivery): void {
    const count = (this.#underWay.get(reminder.generation) ?? 0) + 1;
    this.#underWay.set(reminder.generation, count);
    this.most = Math.max(this.most, count);
  }

  ended({ reminder }: Delivery): void {
    this.#underWay.set(reminder.generation, this.#underWay.get(reminder.generation)! - 1);
  }
}
