// What the leader of one term has noted of members, in order. It gathers while a note is under way and is then written in one step: of many
// hosts that come at once none waits for the others. It does not grow for long, as who cannot reach the store soon leads no more.
import { isLimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Coordination, MemberChange } from "../../ports/store/coordination.ts";

export interface MemberWritesDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly coordination: Coordination;
  /** The term is over: somebody else leads. */
  over(why: string): void;
}

interface Note {
  readonly change: MemberChange;
  /** What is to be done once it is durable. */
  written(): void;
}

const NOTE_RETRY_MS = 200;

export class MemberWrites {
  readonly term: number;
  readonly #deps: MemberWritesDeps;
  readonly #notes: Note[] = [];
  #noting: Promise<void> | undefined;
  #over = false;

  constructor(term: number, deps: MemberWritesDeps) {
    this.term = term;
    this.#deps = deps;
  }

  /** Calls back when it is durable. */
  write(change: MemberChange, written = (): void => {}): void {
    this.#notes.push({ change, written });
    // In a moment: what is to be noted now is written together.
    this.#noting ??= Promise.resolve().then(() => this.#writeNotes());
  }

  /** Resolves when everything that was to be noted is, or the term has ended over it. */
  written(): Promise<void> {
    return this.#noting ?? Promise.resolve();
  }

  end(): void {
    this.#over = true;
  }

  /** As long as the store does not answer it is tried again, with what came since; the term may end over it. */
  async #writeNotes(): Promise<void> {
    while (!this.#over && this.#notes.length > 0) {
      const notes = this.#notes.slice(0, LIMITS.memberChanges);
      const changes = notes.map(({ change }) => change);
      try {
        const isCurrent = await this.#deps.coordination.persist(this.term, changes);
        if (!isCurrent) return this.#deps.over("another scheduler leads by now");
        for (const { written } of notes) {
          // One by one: if a room fails over one of them, the rest is written again.
          this.#notes.shift();
          written();
        }
      } catch (err) {
        if (!isLimpetError(err, "STORE_UNAVAILABLE")) this.#deps.log.error("a note about a member failed", { err });
        await new Promise<void>((resolve) => this.#deps.clock.after(NOTE_RETRY_MS, resolve, "background"));
      }
    }
    this.#noting = undefined;
  }
}
