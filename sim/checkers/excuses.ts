// Rules about leases hold only while no process sleeps, and no clock errs, for longer than the margin of a
// lease. This class determines as exactly as possible when that was the case, so that the rules stay strict
// the rest of the time.
import type { Process } from "../../src/world/process.ts";
import type { Observer } from "../observer.ts";
import type { Stage } from "../stage.ts";
import { every } from "./looks.ts";

/**
 * A process that resumes does its overdue work at once, but other events of the same moment may come first.
 */
const WAKING_MS = 50;
const LOOK_MS = 250;
/** Sleeps of one process whose consequences may overlap. */
const MOST_SLEEPS = 4;
/** Largest drift of a clock. The margin of a lease is 15 %. */
const MOST_DRIFT = 0.06;
/** Readings of a clock that are closer than this are not conclusive. */
const LEAST_WINDOW_MS = 1_000;

interface Sleep {
  readonly from: number;
  until: number;
}

interface Look {
  readonly at: number;
  readonly mono: number;
  readonly wall: number;
}

export class Excuses implements Observer {
  readonly #stage: Stage;
  readonly #windowMs: number;
  /** In order; the newest is the last. */
  readonly #sleeps = new Map<Process, Sleep[]>();
  readonly #looks = new Map<Process, Look[]>();
  #storeOffset: number;
  #storeJumpedAt = Number.NEGATIVE_INFINITY;
  readonly stepped: () => void;

  /** `windowMs`: duration of the consequences of a clock error. */
  constructor(stage: Stage, windowMs: number) {
    this.#stage = stage;
    this.#windowMs = windowMs;
    this.#storeOffset = stage.world.database.offsetMs;
    this.stepped = every(stage, LOOK_MS, () => this.#look());
  }

  slept(process: Process, ms: number): void {
    const { now } = this.#stage;
    const sleeps = this.#sleeps.get(process) ?? [];
    this.#sleeps.set(process, sleeps);
    const before = sleeps.at(-1);
    const isSameNight = before !== undefined && now <= before.until + WAKING_MS;
    if (isSameNight) before.until = Math.max(now + ms, before.until);
    else sleeps.push({ from: now, until: now + ms });
    if (sleeps.length > MOST_SLEEPS) sleeps.shift();
  }

  gone(_host: unknown, process: Process): void {
    this.#sleeps.delete(process);
    this.#looks.delete(process);
  }

  #look(): void {
    const { now, players, world } = this.#stage;
    for (const [process, sleeps] of this.#sleeps) {
      const sleep = sleeps.at(-1)!;
      // The process may resume early.
      if (!process.isAsleep && sleep.until > now) sleep.until = now;
    }
    for (const { host } of players) {
      const { process } = host;
      if (process === undefined) continue;
      const looks = this.#looks.get(process) ?? [];
      this.#looks.set(process, looks);
      looks.push({ at: now, mono: process.clock.monotonic(), wall: process.clock.now() });
      // For a process that sleeps or has just resumed, the earlier reading counts: its clock may have been
      // set meanwhile.
      const sleep = this.#sleeps.get(process)?.at(-1);
      const from = sleep !== undefined && sleep.until >= now - WAKING_MS - LOOK_MS ? sleep.from : now;
      while (looks[0]!.at < from - this.#windowMs) looks.shift();
    }
    const { offsetMs } = world.database;
    if (offsetMs !== this.#storeOffset) this.#storeJumpedAt = now;
    this.#storeOffset = offsetMs;
  }

  /**
   * The process sleeps, or has resumed this moment, and the sleep was longer than the margin. `noticesMs`: a
   * clock that stood still fires as late as the process slept, so that it may take until the next check of
   * the lease.
   */
  overslept(process: Process, marginMs: number, noticesMs = 0): boolean {
    const { now } = this.#stage;
    const sleeps = this.#sleeps.get(process) ?? [];
    return sleeps.some((sleep, i) => {
      const until = process.isAsleep && i === sleeps.length - 1 ? now : Math.min(sleep.until, now);
      return until - sleep.from > marginMs && until >= now - WAKING_MS - LOOK_MS - noticesMs;
    });
  }

  /** Both clocks of the process have lost time: it cannot detect how late it is. */
  isSlow(process: Process): boolean {
    const { now } = this.#stage;
    const [mono, wall] = [process.clock.monotonic(), process.clock.now()];
    return (this.#looks.get(process) ?? []).some((look) => {
      const passed = now - look.at;
      return passed > LEAST_WINDOW_MS && Math.max(mono - look.mono, wall - look.wall) < passed * (1 - MOST_DRIFT) - 1;
    });
  }

  /** The clock of some process runs ahead, so it may end a lease early. */
  get isAnyFast(): boolean {
    const { now } = this.#stage;
    for (const [process, looks] of this.#looks) {
      const mono = process.clock.monotonic();
      for (const look of looks) {
        const passed = now - look.at;
        if (passed > LEAST_WINDOW_MS && mono - look.mono > passed * (1 + MOST_DRIFT) + 1) return true;
      }
    }
    return false;
  }

  /** The clock of the store was set: leaderships end too early or too late. */
  get storeJumped(): boolean {
    return this.#storeJumpedAt > this.#stage.now - this.#windowMs;
  }
}
