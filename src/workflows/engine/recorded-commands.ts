// Holds the commands of a history during its replay: each command of the code is compared with the recorded
// one of its number. Also tracks the version of a change that the run follows.
import type { HistoryEvent, Step } from "./events.ts";
import { type CommandEvent, isCommandEvent } from "./events.ts";

export class RecordedDecisions {
  #byNumber: (CommandEvent | undefined)[] = [];
  /** Events of the history that the replay has not reached. */
  #ahead = 0;
  /** Versions in the history, and versions that the code has reached. */
  readonly #versions = new Map<string, number>();
  readonly #passed = new Map<string, number>();

  begin(steps: readonly Step[]): void {
    this.#byNumber = [];
    for (const { events } of steps) {
      this.#ahead += events.length;
      for (const event of events) this.#note(event);
    }
  }

  #note(event: HistoryEvent): void {
    if (!isCommandEvent(event)) return;
    this.#byNumber[event.n] = event;
    if (event.kind === "VersionMarkerRecorded") this.#versions.set(event.change, event.version);
  }

  /** The replay passed one event. */
  pass(): void {
    this.#ahead--;
  }

  get isReplaying(): boolean {
    return this.#ahead > 0;
  }

  at(n: number): CommandEvent | undefined {
    return this.#byNumber[n];
  }

  /** The last command of the history, if its number is above `n`. */
  beyond(n: number): CommandEvent | undefined {
    return this.#byNumber.length > n + 1 ? this.#byNumber.at(-1) : undefined;
  }

  /** The replay is complete. Returns the commands that match. */
  end(isWanted: (decision: CommandEvent) => boolean): CommandEvent[] {
    const wanted = this.#byNumber.filter((decision) => decision !== undefined && isWanted(decision));
    this.#byNumber = [];
    return wanted as CommandEvent[];
  }

  /**
   * The version of a change that the run follows. `isToRecord`: the code reaches the change for the first
   * time and must record it.
   */
  version(change: string, min: number, max: number): { readonly version: number; readonly isToRecord: boolean } {
    const passed = this.#passed.get(change);
    if (passed !== undefined) return { version: passed, isToRecord: false };
    const recorded = this.#versions.get(change);
    const version = recorded ?? (this.isReplaying ? min : max);
    this.#passed.set(change, version);
    return { version, isToRecord: recorded !== undefined || !this.isReplaying };
  }
}
