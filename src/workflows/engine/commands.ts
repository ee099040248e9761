// Numbers the commands of a run's code in the order of issue, and keeps the new ones until they are written.
// During a replay the history must have the same command under each number; otherwise the code has diverged
// from its history. Also tracks the version of a change that the run follows.
import { LimpetError } from "../../kernel/errors.ts";
import { describeCommand, describeWithValues, isEqualCommand, isSameCommand, placeIn } from "./divergence.ts";
import { type CommandEvent, isCommandEvent, isEnd, type Step } from "./events.ts";

/** A command without its number, which `add` assigns. */
type Numbered<C> = C extends { readonly n: number } ? Omit<C, "n"> : never;
export type NewCommand = Numbered<CommandEvent>;

export class Commands {
  /** Throws the error of a run whose code has diverged. */
  readonly #diverged: (problem: string) => never;
  /** In tests: commands from this number on must equal the recorded ones in all values. */
  exactFrom = Number.POSITIVE_INFINITY;
  #issued = 0;
  #fresh: CommandEvent[] = [];
  #ownFrom = Number.POSITIVE_INFINITY;
  /** The commands of the history during its replay, by number. */
  #recorded: (CommandEvent | undefined)[] = [];
  /** Commands of the history that still lacked an outcome at its end. */
  #open: readonly CommandEvent[] = [];
  /** Events of the history that the replay has not reached. */
  #ahead = 0;
  /** Versions in the history, and versions that the code has reached. */
  readonly #versions = new Map<string, number>();
  readonly #passed = new Map<string, number>();

  constructor(diverged: (problem: string) => never) {
    this.#diverged = diverged;
  }

  /** The number of commands so far. */
  get issued(): number {
    return this.#issued;
  }

  /** Commands that are not in the history yet. */
  get fresh(): readonly CommandEvent[] {
    return this.#fresh;
  }

  takeFresh(): CommandEvent[] {
    const fresh = this.#fresh;
    this.#fresh = [];
    return fresh;
  }

  /** The number of the first command that was not in the replayed history. */
  get ownFrom(): number {
    return this.#ownFrom;
  }

  /** Numbers a command and compares it with the history. */
  add(command: NewCommand): CommandEvent {
    const n = ++this.#issued;
    const numbered = { ...command, n } as CommandEvent;
    const recorded = this.#recorded[n];
    const last = this.isReplaying && isEnd(numbered) ? this.#beyond(n) : undefined;
    if (recorded === undefined && last !== undefined) this.#diverge(numbered, last, describeCommand);
    if (recorded === undefined) this.#addFresh(numbered);
    else if (!isSameCommand(recorded, numbered)) this.#diverge(numbered, recorded, describeCommand);
    else if (n >= this.exactFrom && !isEqualCommand(recorded, numbered)) {
      this.#diverge(numbered, recorded, describeWithValues);
    }
    return numbered;
  }

  #addFresh(command: CommandEvent): void {
    this.#ownFrom = Math.min(this.#ownFrom, command.n);
    this.#fresh.push(command);
  }

  #diverge(code: CommandEvent, history: CommandEvent, describe: (command: CommandEvent) => string): never {
    const problem = `the history has ${describe(history)}, the code now decides ${describe(code)}`;
    // The end of a run has no place in the code.
    const place = isEnd(code) ? undefined : placeIn(new LimpetError("WORKFLOW_DIVERGED", problem));
    return this.#diverged(place === undefined ? problem : `${problem} at ${place}`);
  }

  // ——— Replay.

  beginReplay(steps: readonly Step[]): void {
    this.#recorded = [];
    for (const { events } of steps) {
      this.#ahead += events.length;
      for (const event of events) {
        if (!isCommandEvent(event)) continue;
        this.#recorded[event.n] = event;
        if (event.kind === "VersionMarkerRecorded") this.#versions.set(event.change, event.version);
      }
    }
  }

  /** The replay passed one event. */
  pass(): void {
    this.#ahead--;
  }

  get isReplaying(): boolean {
    return this.#ahead > 0;
  }

  /** The recorded command that the next one must equal. */
  get next(): CommandEvent | undefined {
    return this.#recorded[this.#issued + 1];
  }

  /** The last command of the history, if its number is above `n`. */
  #beyond(n: number): CommandEvent | undefined {
    return this.#recorded.length > n + 1 ? this.#recorded.at(-1) : undefined;
  }

  endReplay(isOpen: (n: number) => boolean): void {
    this.#open = this.#recorded.filter((command) => command !== undefined && isOpen(command.n)) as CommandEvent[];
    this.#recorded = [];
  }

  /** Commands that had no outcome at the end of the replay. */
  get open(): readonly CommandEvent[] {
    return this.#open;
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
