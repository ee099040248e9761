// The trace of the activations of tallies (support/cluster-actors.ts), and its rules: the activations of one
// actor come one after another, and the commits of each are consecutive.
import assert from "node:assert/strict";
import type { TraceLine } from "./cluster-actors.ts";

interface Life {
  readonly who: string;
  readonly process: string;
  readonly from: number;
  until: number;
  readonly begins: { readonly at: number; readonly operation: string }[];
}

/** A process could not run between these two times. */
export interface Pause {
  readonly process: string;
  readonly from: number;
  readonly until: number;
}

export class LifeTrace {
  /** By actor, in the order they began. */
  readonly #lives = new Map<string, Life[]>();

  constructor(files: ReadonlyMap<string, string>) {
    for (const [process, text] of files) this.#read(process, text);
    for (const lives of this.#lives.values()) lives.sort((one, other) => one.from - other.from);
  }

  #read(process: string, text: string): void {
    const open = new Map<number, Life>();
    for (const line of text.split("\n")) {
      // The last line of a process that was killed may be cut short.
      if (!line.endsWith("]")) continue;
      const [at, kind, number, actor, operation] = JSON.parse(line) as TraceLine;
      let life = open.get(number);
      if (life === undefined) {
        life = { who: `${process}#${number}`, process, from: at, until: at, begins: [] };
        open.set(number, life);
        this.#lives.set(actor, [...(this.#lives.get(actor) ?? []), life]);
      }
      life.until = at;
      if (kind === "begin") life.begins.push({ at, operation });
    }
  }

  get lives(): number {
    return this.#lives.values().reduce((sum, lives) => sum + lives.length, 0);
  }

  /**
   * No activation of an actor begins before the one in another process has ended. Activations during a pause
   * do not count from its beginning, except that none of them may begin another turn. One turn of a process
   * may have been about to begin when it was stopped, after the check of the lease and before the first
   * record.
   */
  checkAlone(pauses: readonly Pause[] = []): void {
    for (const pause of pauses) this.#checkPause(pause);
    for (const [actor, lives] of this.#lives) {
      const ordered = lives.toSorted((one, other) => one.from - other.from);
      for (let i = 1; i < ordered.length; i++) {
        // All earlier activations may overlap this one, not only the last of them.
        for (const before of ordered.slice(0, i)) {
          const { who, from, process } = ordered[i]!;
          if (before.process === process && before.until <= from) continue;
          const overlap = before.until - from;
          assert.ok(overlap <= 0, `${actor} lives twice: ${who} began ${overlap} µs before the end of ${before.who}`);
        }
      }
    }
  }

  #checkPause({ process, from, until }: Pause): void {
    const late: string[] = [];
    for (const [actor, lives] of this.#lives) {
      for (const life of lives) {
        if (process !== life.process || life.from > from || life.until < from) continue;
        for (const { at } of life.begins) if (at > until) late.push(`${actor} of ${life.who}, ${at - until} µs later`);
        life.until = Math.min(life.until, from);
      }
    }
    assert.ok(late.length <= 1, `turns that began after their host had slept through its lease: ${late.join("; ")}`);
  }

  /**
   * `operations` are in the order of their commits: once another activation has committed, an earlier one
   * commits no more.
   */
  checkCommits(actor: string, operations: readonly string[]): void {
    const lives = this.#lives.get(actor) ?? [];
    let current: Life | undefined;
    const over = new Set<Life>();
    for (const operation of operations) {
      const candidates = lives.filter(({ begins }) => begins.some((begun) => begun.operation === operation));
      assert.ok(candidates.length > 0, `${actor}: ${operation} is stored, but no turn did it`);
      if (current !== undefined && candidates.includes(current)) continue;
      if (current !== undefined) over.add(current);
      const next = candidates.find((life) => !over.has(life));
      assert.ok(next !== undefined, `${actor}: ${candidates[0]!.who} committed ${operation} after its time`);
      current = next;
    }
  }
}
