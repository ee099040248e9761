// Helpers for tests of a virtual world: a process that does nothing by itself, and time that passes by
// itself.
import type { Station } from "./network/network.ts";
import { type Actee, type Happening, Timeline } from "./timeline.ts";

/** A process that can only fall asleep and end. */
export class Dummy implements Station {
  readonly number: number;
  readonly place: number;
  readonly held: Happening[] = [];
  isAsleep = false;
  hasEnded = false;

  constructor(place: number, number = place) {
    this.place = place;
    this.number = number;
  }

  get isAwake(): boolean {
    return !this.isAsleep && !this.hasEnded;
  }

  takes(happening: Happening): boolean {
    if (this.hasEnded) return false;
    if (this.isAsleep) this.held.push(happening);
    return !this.isAsleep;
  }

  wake(timeline: Timeline): void {
    this.isAsleep = false;
    for (const happening of this.held.splice(0)) timeline.planAgain(happening, timeline.now);
  }
}

/** Runs every event as soon as it is planned, in the background of a test that waits for promises. */
export class SelfRunning extends Timeline {
  #running: Promise<void> | undefined;
  /** The error of an event that threw. */
  failure: unknown;

  override plan(at: number, kind: number, actee: Actee | undefined, run: () => void): Happening {
    const happening = super.plan(at, kind, actee, run);
    this.#wake();
    return happening;
  }

  override planAgain(happening: Happening, at: number): void {
    super.planAgain(happening, at);
    this.#wake();
  }

  #wake(): void {
    this.#running ??= this.run(Number.POSITIVE_INFINITY)
      .catch((error: unknown) => {
        this.failure ??= error;
      })
      .finally(() => {
        this.#running = undefined;
        if (this.next !== undefined) this.#wake();
      });
  }
}
