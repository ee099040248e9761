// What a history says was decided, while it is replayed: each decision of the code is held against the one with its number. Also which
// version of a change the run follows.
import type { HistoryEvent, Step } from "./events.ts";
import { type CommandEvent, isCommandEvent } from "./events.ts";

export class RecordedDecisions {
  #byNumber: (CommandEvent | undefined)[] = [];
  /** Events of the history that are still to come. */
  #ahead = 0;
  /** Those of the history, and those that the code has come by. */
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

  /** One of the events was gone through. */
  pass(): void {
    this.#ahead--;
  }

  get isReplaying(): boolean {
    return this.#ahead > 0;
  }

  at(n: number): CommandEvent | undefined {
    return this.#byNumber[n];
  }

  /** The last one of the history, if it is beyond that number. */
  beyond(n: number): CommandEvent | undefined {
    return this.#byNumber.length > n + 1 ? this.#byNumber.at(-1) : undefined;
  }

  /** All of it was gone through. Those of the decisions for which that is true. */
  end(isWanted: (decision: CommandEvent) => boolean): CommandEvent[] {
    const wanted = this.#byNumber.filter((decision) => decision !== undefined && isWanted(decision));
    this.#byNumber = [];
    return wanted as CommandEvent[];
  }

  /** Which version of a change the run follows, and whether the code comes by it for the first time and that is to be recorded. */
  version(change: string, min: number, max: number): { readonly version: number; readonly isToRecord: boolean } {
    const passed = this.#passed.get(change);
    if (passed !== undefined) return { version: passed, isToRecord: false };
    const recorded = this.#versions.get(change);
    const version = recorded ?? (this.isReplaying ? min : max);
    this.#passed.set(change, version);
    return { version, isToRecord: recorded !== undefined || !this.isReplaying };
  }
}
