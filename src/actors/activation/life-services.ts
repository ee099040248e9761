// The timers, reminders and workflows of one life, as the code of its actor uses them. Most actors use none
// of them, so a life makes this object with the first use. Reminders and workflows wait in the outbox for the
// commit of the turn.
import { LimpetError } from "../../kernel/errors.ts";
import type { ActivationDeps } from "../activation-deps.ts";
import { TurnReminders } from "../outbox/actor-reminders.ts";
import { TurnWorkflows } from "../outbox/actor-workflows.ts";
import { type TurnEffects, TurnOutbox } from "../outbox/turn-outbox.ts";
import type { Activation } from "./activation.ts";
import { ActivationTimers } from "./timers.ts";
import { cancelled, type Turn } from "./turn.ts";

/** The life that uses the services. */
export interface ServedLife {
  readonly isOver: boolean;
  readonly running: Turn | undefined;
  /** True: the class defines `onReminder`. */
  readonly handlesReminders: boolean;
}

export class LifeServices {
  readonly #activation: Activation;
  readonly #deps: ActivationDeps;
  readonly #life: ServedLife;
  #timers: ActivationTimers | undefined;
  #reminders: TurnReminders | undefined;
  #workflows: TurnWorkflows | undefined;
  #outbox: TurnOutbox | undefined;
  /** Ticks of timers that wait or run. */
  #ticks: Set<Turn> | undefined;

  constructor(activation: Activation, deps: ActivationDeps, life: ServedLife) {
    this.#activation = activation;
    this.#deps = deps;
    this.#life = life;
  }

  get timers(): ActivationTimers {
    if (this.#life.isOver)
      throw new LimpetError("STATE_OUTSIDE_TURN", `this life of ${this.#activation.label} is over`);
    this.#timers ??= new ActivationTimers(this.#deps.clock, (name, tick) => this.#tick(name, tick));
    return this.#timers;
  }

  get timerNames(): string[] {
    return this.#timers?.list() ?? [];
  }

  async #tick(name: string, tick: () => unknown): Promise<void> {
    const { type, id } = this.#activation;
    const turn = this.#activation.ownTurn(`timer ${name}`, type.options.callTimeoutMs, tick);
    this.#ticks ??= new Set();
    this.#ticks.add(turn);
    this.#activation.submit(turn);
    try {
      await turn.promise(undefined);
    } catch (err) {
      if (!this.#life.isOver) this.#deps.log.warn("timer.failed", { type: type.name, id, timer: name, err });
    } finally {
      this.#ticks.delete(turn);
    }
  }

  get reminders(): TurnReminders {
    const { type, id } = this.#activation;
    this.#reminders ??= new TurnReminders({
      namespace: this.#deps.namespace,
      typeName: type.name,
      id,
      writer: this.#deps.features.reminders,
      hasHandler: this.#life.handlesReminders,
      outbox: () => this.#outboxOf("reminders"),
    });
    return this.#reminders;
  }

  get workflows(): TurnWorkflows {
    this.#workflows ??= new TurnWorkflows(this.#deps.features.workflows, () => this.#outboxOf("workflows"));
    return this.#workflows;
  }

  #outboxOf(what: string): TurnOutbox {
    if (this.#life.running === undefined || this.#life.isOver) {
      throw new LimpetError("STATE_OUTSIDE_TURN", `the ${what} of ${this.#activation.label} were used outside a turn`);
    }
    this.#outbox ??= new TurnOutbox();
    return this.#outbox;
  }

  // ——— The effects of the running turn.

  savepoint(): number {
    return this.#outbox?.savepoint() ?? 0;
  }

  rollback(savepoint: number): void {
    this.#outbox?.rollback(savepoint);
  }

  /** Undefined: the turn has none. */
  takeEffects(): TurnEffects | undefined {
    return this.#outbox?.take();
  }

  /** Writes the effects of an actor without state. No fence is possible, so they are written on their own. */
  async write({ reminders = [], starts = [], messages = [] }: TurnEffects): Promise<void> {
    const { features } = this.#deps;
    const written: Promise<unknown>[] = reminders.map((write) => features.reminders!.write(write));
    if (starts.length > 0 || messages.length > 0) written.push(features.workflows!.write(starts, messages));
    await Promise.all(written);
  }

  end(reason: string): void {
    this.#timers?.end();
    for (const tick of this.#ticks ?? []) tick.cancel(cancelled(tick.label, reason));
  }
}
