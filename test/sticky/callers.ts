// Callers that never stop calling some sticky actors, through some processes, and the ledger of the outcomes.
// Actors that may fail and actors that must not have separate callers, so that failed calls can be
// attributed.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { ClusterProcess } from "../support/cluster-process.ts";
import { Ledger } from "../support/ledger.ts";
import type { Dice } from "../support/seed.ts";

const LANES = 4;
/** One call in this number takes longer than the others. */
const SLOW = 8;
const LONGEST_PAUSE_MS = 12;
const PATIENCE_MS = 300_000;

export class Callers {
  readonly ledger = new Ledger();
  readonly ids: readonly string[];
  readonly #chance: Dice;
  readonly #lanes: Promise<void>[] = [];
  #stopping = false;
  #failure: unknown;

  constructor(ids: readonly string[], chance: Dice) {
    assert.ok(ids.length > 0, "there is somebody to call");
    this.ids = ids;
    this.#chance = chance;
  }

  /** From now on, calls come in through these processes too. */
  through(...processes: readonly ClusterProcess[]): this {
    for (const process of processes) {
      for (let i = 0; i < LANES; i++) {
        const lane = this.#lane(process).catch((error: unknown) => {
          this.#failure ??= error;
        });
        this.#lanes.push(lane);
      }
    }
    return this;
  }

  async #lane(process: ClusterProcess): Promise<void> {
    while (!this.#stopping && !process.dead) {
      const method = this.#chance.below(SLOW) === 0 ? "addSlowly" : "add";
      await this.ledger.add(process, this.ids[this.#chance.below(this.ids.length)]!, method);
      await pause(this.#chance.below(LONGEST_PAUSE_MS));
    }
  }

  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Waits for that many more acknowledged increments. A lane that fails ends the wait. */
  async more(increments: number): Promise<void> {
    const goal = this.ledger.acked + increments;
    await until(() => {
      this.check();
      return this.ledger.acked >= goal;
    }, `${increments} more increments; told ${this.summary}`);
  }

  get summary(): string {
    const { acked, unknown, errors } = this.ledger;
    return `${acked} acknowledged, ${unknown} unknown, errors ${JSON.stringify([...errors])}`;
  }

  /** Every error of the callers is one of these. */
  expectOnly(...codes: readonly string[]): void {
    const others = new Set(this.ledger.errors.keys()).difference(new Set(codes));
    assert.deepEqual([...others], [], `callers were told ${this.summary}`);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#lanes);
    this.check();
  }
}

/** Waits for a condition, and names it if it never comes true. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `never happened: ${what}`);
    await pause(10);
  }
}
