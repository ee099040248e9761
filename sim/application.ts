// The application of a run: actors that follow the script in each call and record the call in their state.
// Every turn reports to the stage.

import { type ShardedOptions, sharded } from "../src/actors/options/sharded-options.ts";
import type { ActorClass } from "../src/actors/routing/remote.ts";
import { Actor, type ActorOptions, type ReminderTick, sticky } from "../src/index.ts";
import type { Process } from "../src/world/process.ts";
import type { Life, Turn } from "./observer.ts";
import { type CallHow, type PlannedHost, RESTARTS_DOUBLED, type ShardedPlan } from "./plan.ts";
import { beginReminderRun, type Carried, optionsOf, tickWord } from "./reminding.ts";
import { SCRIPT_TYPES, type ScriptInput } from "./scripts.ts";
import { type Carrying, extractorOf, messageIdOf, opOf } from "./shard-extractors.ts";
import { ownStrategy } from "./shard-strategies.ts";
import type { Stage } from "./stage.ts";

/** Types with state. All behave the same, and each has its own table. */
export const LEDGERS = ["Ledger", "Purse", "Diary"] as const;
/** The same, for actors that live in shards. */
export const CRATES = ["Crate", "Shelf"] as const;
/** Timeout of calls without one of their own, and of ticks of reminders. */
export const CALL_TIMEOUT_MS = 10_000;
/** A type without state: it never calls the database. */
export const PLAIN = "Echo";

let lives = 0;
let turns = 0;
let runs = 0;

/** Numbers restart with every run, so that two runs of a seed are equal. */
export function beginNumbers(): void {
  lives = 0;
  turns = 0;
  runs = 0;
}

/** Appends a word to the state of an actor, if it has one. */
type Write = (word: string) => void;

/** The actor classes of one process. The stage attributes their turns to this process. */
export function applicationOf(
  stage: Stage,
  box: { readonly process: Process | undefined },
  namespace: string,
  types: readonly string[],
): ActorClass[] {
  const notify = {
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

  async function work<T>(
    actor: Actor<object>,
    life: Life,
    op: string,
    how: CallHow,
    change: () => T | Promise<T>,
  ): Promise<T> {
    const turn: Turn = { number: ++turns, life, op, beganAt: stage.now };
    notify.turnBegan(turn);
    try {
      for (const { type, id } of how.via ?? []) {
        await actor.actor<Actor & { append(op: string, how: CallHow): number }>(type, id).append(`${op}>${id}`, {});
      }
      if (how.slowMs !== undefined) await new Promise<void>((go) => process().clock.after(how.slowMs!, go));
      if (how.hangs) await new Promise((go) => actor.signal.addEventListener("abort", go, { once: true }));
      if (how.throws === "early") throw new Error("early");
      const result = await change();
      if (how.throws === "late") throw new Error("late");
      if (how.leaves) actor.deactivate();
      if (how.passivates) actor.passivate();
      return result;
    } finally {
      notify.turnEnded(turn);
    }
  }

  /** Handles a tick of a reminder, by the script in its data. */
  async function ring(
    actor: Actor<object>,
    life: Life,
    name: string,
    carried: Carried,
    tick: ReminderTick,
    write: Write,
  ) {
    const { how } = carried;
    const { type, id } = actor;
    const run = { number: ++runs, process: process(), namespace, type, id, name, op: carried.op, tick };
    const waitedMs = CALL_TIMEOUT_MS - ((actor.deadline ?? 0) - process().clock.now());
    const sentAt = stage.now - Math.max(waitedMs, 0);
    const ended = beginReminderRun(stage, { ...run, sentAt, beganAt: stage.now });
    const word = tickWord(carried.op, tick);
    let isDone = false;
    try {
      await work(actor, life, `${word}.${tick.attempt}`, {}, async () => {
        if (how.slowMs !== undefined) await new Promise<void>((go) => process().clock.after(how.slowMs!, go));
        if (how.hangs) await new Promise((go) => actor.signal.addEventListener("abort", go, { once: true }));
        if (how.writes) write(word);
        if (how.sets !== undefined) {
          const next: Carried = { op: `${word}.${tick.attempt}`, how: {} };
          await actor.reminders.set(how.sets.name, { due: how.sets.due, data: next });
        }
        if (how.cancels !== undefined) await actor.reminders.cancel(how.cancels);
        if (tick.attempt <= (how.fails ?? 0)) throw new Error("late");
      });
      isDone = true;
    } finally {
      ended(isDone);
    }
  }

  /** Sets or cancels a reminder, or starts or signals a workflow, in the turn of a call. */
  async function change(actor: Actor<object>, op: string, how: CallHow): Promise<void> {
    const { remind, forget, starts, signals } = how;
    if (starts !== undefined) {
      const input: ScriptInput = { word: op, steps: starts.steps };
      await actor.workflows.start(SCRIPT_TYPES[0], { id: starts.workflow, input });
    }
    if (signals !== undefined) await actor.workflows.signal(signals.workflow, signals.name, op);
    if (remind !== undefined) await actor.reminders.set(remind.name, optionsOf(op, remind));
    if (forget !== undefined) await actor.reminders.cancel(forget);
  }

  /** Options of a sharded type, with application code where the plan has some. */
  function shardedOptions(type: string, plan: ShardedPlan): ShardedOptions {
    const { strategy, extractor, messages, ...rest } = plan;
    return {
      ...rest,
      ...(rest.restartAfter === undefined ? {} : { restartAtMost: RESTARTS_DOUBLED * rest.restartAfter }),
      strategy: typeof strategy === "string" ? strategy : ownStrategy(stage, box, namespace, type, strategy),
      ...(extractor === undefined ? {} : { shardOf: extractorOf(stage, plan, extractor), version: extractor.by }),
      ...(messages === undefined ? {} : { messageId: messageIdOf(stage, messages) }),
    };
  }

  const placementOf = (type: string): ActorOptions => {
    const [rule, shards] = [stage.plan.sticky?.[type], stage.plan.sharded?.[type]];
    if (shards !== undefined) return { placement: sharded(shardedOptions(type, shards)) };
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
        notify.activated(this._life, [...this.state.entries]);
      }
      override onDeactivate(reason: string) {
        notify.deactivated(this._life, reason);
      }
      /** Returns the position of the new entry in the ledger, from 1. */
      append(carried: string | Carrying, how: CallHow) {
        const op = opOf(carried);
        return work(this, this._life, op, how, () => this.state.entries.push(op));
      }
      /** Clears the state of the actor. */
      wipe(carried: string | Carrying, how: CallHow) {
        return work(this, this._life, opOf(carried), how, () => this.clear());
      }
      read(carried: string | Carrying, how: CallHow) {
        return work(this, this._life, opOf(carried), how, () => [...this.state.entries]);
      }
      /** Changes a reminder together with its ledger. */
      remind(op: string, how: CallHow) {
        return work(this, this._life, op, how, async () => {
          await change(this, op, how);
          return this.state.entries.push(op);
        });
      }
      override onReminder(name: string, data: unknown, tick: ReminderTick) {
        return ring(this, this._life, name, data as Carried, tick, (word) => void this.state.entries.push(word));
      }
    };

  class Echo extends Actor {
    static options = placementOf(PLAIN);
    readonly _life: Life = bornHere(this.type, this.id);
    override onActivate() {
      notify.activated(this._life);
    }
    override onDeactivate(reason: string) {
      notify.deactivated(this._life, reason);
    }
    append(op: string, how: CallHow) {
      return work(this, this._life, op, how, () => op);
    }
    remind(op: string, how: CallHow) {
      return work(this, this._life, op, how, async () => {
        await change(this, op, how);
        return op;
      });
    }
    override onReminder(name: string, data: unknown, tick: ReminderTick) {
      return ring(this, this._life, name, data as Carried, tick, () => {});
    }
  }
  return types.map((type) => (type === PLAIN ? Echo : ledger(type)));
}

/** Gives every running process the job of the plan, if there is one. A failed attempt is retried. */
export function setJob(
  stage: Stage,
  process: Process,
  { namespace, dedicated }: Pick<PlannedHost, "namespace" | "dedicated">,
): void {
  const job = stage.plan.reminders?.job;
  if (job === undefined || dedicated || process.app === undefined) return;
  const { every, missed, slowMs } = job;
  const carried: Carried = { op: `${namespace}:job`, how: {} };
  const options = { every, missed, data: carried, onFailure: { attempts: 1_000_000 } };
  const handle = async (_data: unknown, tick: ReminderTick): Promise<void> => {
    const run = { number: ++runs, process, namespace, type: "$sweep", id: "job", name: "run", op: carried.op, tick };
    const ended = beginReminderRun(stage, { ...run, sentAt: stage.now, beganAt: stage.now });
    await new Promise<void>((go) => process.clock.after(slowMs, go));
    ended(true);
  };
  process.app.jobs.set("sweep", options, handle).catch(() => {
    process.clock.after(1_000, () => setJob(stage, process, { namespace, dedicated }));
  });
}
