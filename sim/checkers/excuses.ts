// Rules about leases are promised only while no process sleeps, and no clock errs, for longer than the margin of a lease. This
// knows when that was so, as exactly as it can be known, so that the rules stay sharp the rest of the time.
import type { Process } from "../../src/world/process.ts";
import type { Observer } from "../observer.ts";
import type { Stage } from "../stage.ts";
import { every } from "./looks.ts";

/** A process that wakes up does at once what it should have done; what happens in the same breath may come first. */
const WAKING_MS = 50;
const LOOK_MS = 250;
/** One after the other, of which each may have consequences. */
const MOST_SLEEPS = 4;
/** How much faster or slower than time itself a clock may go. The margin of a lease is 15 %. */
const MOST_DRIFT = 0.06;
/** A look at a clock says nothing about less time than this. */
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
  /** The latest is the last. */
  readonly #sleeps = new Map<Process, Sleep[]>();
  readonly #looks = new Map<Process, Look[]>();
  #storeOffset: number;
  #storeJumpedAt = Number.NEGATIVE_INFINITY;
  readonly stepped: () => void;

  /** `windowMs`: how long what went wrong with a clock has consequences. */
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
      // It may be woken before its time.
      if (!process.isAsleep && sleep.until > now) sleep.until = now;
    }
    for (const { host } of players) {
      const { process } = host;
      if (process === undefined) continue;
      const looks = this.#looks.get(process) ?? [];
      this.#looks.set(process, looks);
      looks.push({ at: now, mono: process.clock.monotonic(), wall: process.clock.now() });
      // Of one that sleeps, or has just woken up, what was before counts: its clock may have been set meanwhile.
      const sleep = this.#sleeps.get(process)?.at(-1);
      const from = sleep !== undefined && sleep.until >= now - WAKING_MS - LOOK_MS ? sleep.from : now;
      while (looks[0]!.at < from - this.#windowMs) looks.shift();
    }
    const { offsetMs } = world.database;
    if (offsetMs !== this.#storeOffset) this.#storeJumpedAt = now;
    this.#storeOffset = offsetMs;
  }

  /**
   * It sleeps, or has woken up this very moment, and it was for longer than this. `noticesMs`: a clock that stood still rings as
   * late as the process slept, so that it may take until the next look at the lease to notice.
   */
  overslept(process: Process, marginMs: number, noticesMs = 0): boolean {
    const { now } = this.#stage;
    const sleeps = this.#sleeps.get(process) ?? [];
    return sleeps.some((sleep, i) => {
      const until = process.isAsleep && i === sleeps.length - 1 ? now : Math.min(sleep.until, now);
      return until - sleep.from > marginMs && until >= now - WAKING_MS - LOOK_MS - noticesMs;
    });
  }

  /** Both of its clocks have missed some of the time that has passed: it cannot know how late it is. */
  isSlow(process: Process): boolean {
    const { now } = this.#stage;
    const [mono, wall] = [process.clock.monotonic(), process.clock.now()];
    return (this.#looks.get(process) ?? []).some((look) => {
      const passed = now - look.at;
      return passed > LEAST_WINDOW_MS && Math.max(mono - look.mono, wall - look.wall) < passed * (1 - MOST_DRIFT) - 1;
    });
  }

  /** Some process counts more time than has passed, so that it may end what lasts. */
  get somebodyIsFast(): boolean {
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

  /** The clock of the store was set: by it, leaderships end too early or too late. */
  get storeJumped(): boolean {
    return this.#storeJumpedAt > this.#stage.now - this.#windowMs;
  }
}
