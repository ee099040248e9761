// Callers that never stop, through every process of a cluster, and the ledger of the outcomes.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { ClusterProcess } from "./cluster-process.ts";
import { CallFailed } from "./host-process.ts";
import { Ledger, type TallyCaller } from "./ledger.ts";
import type { Dice } from "./seed.ts";

export const ACTORS = 50;
const LANES = 5;
/** One call in this number takes longer than the others. */
const SLOW = 8;
const LONGEST_PAUSE_MS = 12;
const PATIENCE_MS = 300_000;

export class ClusterLoad {
  readonly ledger = new Ledger();
  readonly #chance: Dice;
  readonly #lanes = new Map<ClusterProcess, Promise<void>[]>();
  readonly #released = new Set<ClusterProcess>();
  #stopping = false;
  #failure: unknown;

  constructor(chance: Dice) {
    this.#chance = chance;
  }

  /** From now on, calls come in through this process too. */
  through(...processes: readonly ClusterProcess[]): void {
    for (const process of processes) {
      const lanes = Array.from({ length: LANES }, () =>
        this.#lane(process).catch((error: unknown) => {
          this.#failure ??= error;
        }),
      );
      this.#lanes.set(process, lanes);
    }
  }

  /** Ends calls through this process. Resolves when all of them are answered. */
  async release(process: ClusterProcess): Promise<void> {
    this.#released.add(process);
    await Promise.all(this.#lanes.get(process) ?? []);
  }

  async #lane(process: ClusterProcess): Promise<void> {
    const caller = this.#caller(process);
    while (!this.#stopping && !process.dead && !process.leaving && !this.#released.has(process)) {
      const method = this.#chance.below(SLOW) === 0 ? "addSlowly" : "add";
      await this.ledger.add(caller, `actor ${this.#chance.below(ACTORS)}`, method);
      await pause(this.#chance.below(LONGEST_PAUSE_MS));
    }
  }

  #another(): ClusterProcess | undefined {
    return this.#lanes.keys().find((one) => !one.dead && !one.leaving && !this.#released.has(one));
  }

  /** A stopping process takes no new calls; its callers use another one. */
  #caller(process: ClusterProcess): TallyCaller {
    return {
      add: async (actor, operation, method) => {
        let through = process;
        for (;;) {
          // The chosen process may have begun to stop since, so the choice is repeated for each call.
          if (through.dead || through.leaving) through = this.#another() ?? through;
          try {
            return await through.add(actor, operation, method);
          } catch (error) {
            const stopping = error instanceof CallFailed && error.code === "STOPPING" && through.leaving;
            if (!stopping || this.#another() === undefined) throw error;
          }
        }
      },
    };
  }

  /** A lane that fails ends the wait. */
  async until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await condition())) {
      this.check();
      assert.ok(performance.now() < deadline, `never happened: ${what}; told ${this.summary}`);
      await pause(10);
    }
  }

  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Waits for that many more acknowledged increments. */
  async more(increments: number): Promise<void> {
    const goal = this.ledger.acked + increments;
    await this.until(() => this.ledger.acked >= goal, `${increments} more increments`);
  }

  get summary(): string {
    const { acked, unknown, errors } = this.ledger;
    return `${acked} acknowledged, ${unknown} unknown, errors ${JSON.stringify([...errors])}`;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#lanes.values()].flat());
    this.check();
  }
}
