// Actors that record each tick of their reminders when it begins and when it has been handled: one without
// state, whose ticks are settled afterwards, and one with state, whose ticks are settled with it. Times are
// those of the machine's clock, which is the clock of every store here.
import { setTimeout as pause } from "node:timers/promises";
import { Actor, type ReminderOptions, type ReminderTick } from "../../src/index.ts";
import { writeTrace } from "./trace-file.ts";

export type StrokeKind = "begin" | "end";
export type StrokeLine = readonly [
  kind: StrokeKind,
  at: number,
  bell: string,
  name: string,
  number: number,
  attempt: number,
  due: number,
];

/** Data of a reminder of a bell. */
export interface BellData {
  /** Duration of its handler, at its first tick. */
  readonly lingerMs?: number;
}

/** One tick that a stateful bell keeps. */
export type Rung = readonly [name: string, number: number];

async function ring(bell: Actor<never> | Actor, name: string, data: unknown, tick: ReminderTick): Promise<void> {
  const stroke = (kind: StrokeKind): void => {
    const { number, attempt, due } = tick;
    const line: StrokeLine = [kind, Date.now(), `${bell.type}/${bell.id}`, name, number, attempt, due];
    writeTrace(line);
  };
  stroke("begin");
  const { lingerMs = 0 } = (data ?? {}) as BellData;
  if (lingerMs > 0 && tick.number === 1) await pause(lingerMs);
  stroke("end");
}

export class Bell extends Actor {
  async set(name: string, options: ReminderOptions): Promise<void> {
    await this.reminders.set(name, options);
  }

  override async onReminder(name: string, data: unknown, tick: ReminderTick): Promise<void> {
    await ring(this, name, data, tick);
  }
}

export class Chimes extends Actor<{ rung: [string, number][] }> {
  initial() {
    return { rung: [] as [string, number][] };
  }

  async set(name: string, options: ReminderOptions): Promise<void> {
    await this.reminders.set(name, options);
  }

  override async onReminder(name: string, data: unknown, tick: ReminderTick): Promise<void> {
    await ring(this, name, data, tick);
    this.state.rung.push([name, tick.number]);
  }

  rung(): readonly Rung[] {
    return this.state.rung.map(([name, number]) => [name, number] as const);
  }
}
