// The application of a run: actors that do as the call tells them and write down who called. What they do is seen by the stage.

import type { ActorClass } from "../src/actors/remote.ts";
import { Actor, type ActorOptions, sticky } from "../src/index.ts";
import type { Process } from "../src/world/process.ts";
import type { Life, Turn } from "./observer.ts";
import type { CallHow } from "./plan.ts";
import type { Stage } from "./stage.ts";

/** Types with state; every one behaves the same, and each has tables of its own. */
export const LEDGERS = ["Ledger", "Purse", "Diary"] as const;
/** A type without state: it never asks the database. */
export const PLAIN = "Echo";

let lives = 0;
let turns = 0;

/** Numbers begin anew with every run, so that two runs of a seed are the same. */
export function beginNumbers(): void {
  lives = 0;
  turns = 0;
}

/** The classes of one process: what they do is noted as done there. */
export function applicationOf(
  stage: Stage,
  box: { readonly process: Process | undefined },
  namespace: string,
  types: readonly string[],
): ActorClass[] {
  const tell = {
    activated: (life: Life, entries?: readonly string[]) => {
      for (const one of stage.observers) one.activated?.(life, entries);
    },
    deactivated: (life: Life, reason: string) => {
      for (const one of stage.observers) one.deactivated?.(life, reason);
    },
    turnBegan: (turn: Turn) => {
      for (const one of stage.observers) one.turnBegan?.(turn);
    },
    turnEnded: (turn: Turn) => {
      for (const one of stage.observers) one.turnEnded?.(turn);
    },
  };
  const process = (): Process => box.process!;
  const bornHere = (type: string, id: string): Life => {
    return { number: ++lives, process: process(), namespace, type, id, bornAt: stage.now };
  };

  async function work<T>(actor: Actor<object>, life: Life, op: string, how: CallHow, change: () => T): Promise<T> {
    const turn: Turn = { number: ++turns, life, op, beganAt: stage.now };
    tell.turnBegan(turn);
    try {
      for (const { type, id } of how.via ?? []) {
        await actor.actor<Actor & { append(op: string, how: CallHow): number }>(type, id).append(`${op}>${id}`, {});
      }
      if (how.slowMs !== undefined) await new Promise<void>((go) => process().clock.after(how.slowMs!, go));
      if (how.hangs) await new Promise((go) => actor.signal.addEventListener("abort", go, { once: true }));
      if (how.throws === "early") throw new Error("early");
      const result = change();
      if (how.throws === "late") throw new Error("late");
      if (how.leaves) actor.deactivate();
      return result;
    } finally {
      tell.turnEnded(turn);
    }
  }

  const placementOf = (type: string): ActorOptions => {
    const rule = stage.plan.sticky?.[type];
    return rule === undefined ? {} : { placement: sticky(rule) };
  };

  const ledger = (name: string): ActorClass =>
    class extends Actor<{ entries: string[] }> {
      static options = { name, ...placementOf(name) } satisfies ActorOptions;
      readonly _life: Life = bornHere(this.type, this.id);
      override initial() {
        return { entries: [] as string[] };
      }
      override onActivate() {
        tell.activated(this._life, [...this.state.entries]);
      }
      override onDeactivate(reason: string) {
        tell.deactivated(this._life, reason);
      }
      /** Its place in the ledger, from 1. */
      append(op: string, how: CallHow) {
        return work(this, this._life, op, how, () => this.state.entries.push(op));
      }
      /** Forgets everything it has ever written. */
      wipe(op: string, how: CallHow) {
        return work(this, this._life, op, how, () => this.clear());
      }
      read(op: string, how: CallHow) {
        return work(this, this._life, op, how, () => [...this.state.entries]);
      }
    };

  class Echo extends Actor {
    static options = placementOf(PLAIN);
    readonly _life: Life = bornHere(this.type, this.id);
    override onActivate() {
      tell.activated(this._life);
    }
    override onDeactivate(reason: string) {
      tell.deactivated(this._life, reason);
    }
    append(op: string, how: CallHow) {
      return work(this, this._life, op, how, () => op);
    }
  }
  return types.map((type) => (type === PLAIN ? Echo : ledger(type)));
}
