// The reminders of an actor, as its code sees them. Writes are buffered until the turn ends; reads see the
// turn's own writes.
import { LimpetError } from "../../kernel/errors.ts";
import { checkReminderName } from "../../kernel/names.ts";
import type { ReminderOptions } from "../../ports/reminder-options.ts";
import type { ReminderInfo, ReminderWriter } from "../../ports/reminder-writer.ts";
import type { ReminderKey } from "../../ports/store/reminders.ts";
import { noHandler } from "./remind.ts";
import type { TurnOutbox } from "./turn-outbox.ts";

export interface ActorReminders {
  /**
   * Sets a reminder of this actor, and replaces one with the same name. The reminder is stored when this turn
   * commits. It survives crashes and restarts, and calls `onReminder` when it is due: at least once, never
   * early.
   */
  set(name: string, options: ReminderOptions): Promise<void>;
  get(name: string): Promise<ReminderInfo | undefined>;
  list(): Promise<ReminderInfo[]>;
  /** Cancels the reminder when this turn commits. A missing reminder is no error. */
  cancel(name: string): Promise<void>;
}

export interface ActorReminderDeps {
  readonly namespace: string;
  readonly typeName: string;
  readonly id: string;
  readonly writer: ReminderWriter | undefined;
  /** True: the class defines `onReminder`. */
  readonly hasHandler: boolean;
  /** The outbox of the running turn. Throws outside a turn. */
  outbox(): TurnOutbox;
}

export class TurnReminders implements ActorReminders {
  readonly #deps: ActorReminderDeps;

  constructor(deps: ActorReminderDeps) {
    this.#deps = deps;
  }

  #writer(): ReminderWriter {
    const { writer } = this.#deps;
    if (writer !== undefined) return writer;
    throw new LimpetError("NOT_READY", "this process has no reminders");
  }

  #key(name: string): ReminderKey {
    checkReminderName(name);
    const { namespace, typeName, id } = this.#deps;
    return { namespace, type: typeName, id, name };
  }

  async set(name: string, options: ReminderOptions): Promise<void> {
    const write = this.#writer().set(this.#key(name), options);
    const outbox = this.#deps.outbox();
    if (!this.#deps.hasHandler) throw noHandler(this.#deps.typeName);
    outbox.add(write);
  }

  async cancel(name: string): Promise<void> {
    this.#writer();
    this.#deps.outbox().add({ kind: "cancel", key: this.#key(name) });
  }

  async get(name: string): Promise<ReminderInfo | undefined> {
    const key = this.#key(name);
    const write = this.#deps.outbox().find(name);
    if (write?.kind === "cancel") return undefined;
    return write === undefined ? this.#writer().get(key) : this.#writer().shown(write);
  }

  async list(): Promise<ReminderInfo[]> {
    const outbox = this.#deps.outbox();
    const { namespace, typeName, id } = this.#deps;
    const writer = this.#writer();
    const stored = await writer.list({ namespace, type: typeName, id });
    const own = outbox.reminders();
    const kept = stored.filter(({ name }) => !own.some(({ key }) => key.name === name));
    const set = own.flatMap((write) => (write.kind === "set" ? [writer.shown(write)] : []));
    return [...kept, ...set].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
