// The public API of reminders and jobs for code outside actors: `app.reminders`, `app.jobs`.
import { type ActorType, checkReminders, isActorClass } from "../actors/actor-type.ts";
import type { ActorClass } from "../actors/routing/remote.ts";
import { checkId, checkNoJob, checkReminderName, checkType } from "../kernel/names.ts";
import type { ReminderOptions } from "../ports/reminder-options.ts";
import type { ReminderInfo } from "../ports/reminder-writer.ts";
import type { ReminderKey } from "../ports/store/reminders.ts";
import type { JobHandler, ReminderNode } from "../reminders/node.ts";

export interface AppReminders {
  /** Sets a reminder of an actor, and replaces one with the same name. Resolves when it is stored. */
  set(type: ActorClass | string, id: string, name: string, options: ReminderOptions): Promise<void>;
  get(type: ActorClass | string, id: string, name: string): Promise<ReminderInfo | undefined>;
  list(type: ActorClass | string, id: string): Promise<ReminderInfo[]>;
  /** A missing reminder is no error. */
  cancel(type: ActorClass | string, id: string, name: string): Promise<void>;
}

export interface AppJobs {
  /**
   * Runs `handler` on schedule in one of the processes that set this job; at least once for each tick, never
   * early. Setting the same schedule again, in this or another process, changes nothing. Without options the
   * process only handles ticks of a job that another process set.
   */
  set(name: string, options: ReminderOptions | undefined, handler: JobHandler): Promise<void>;
  get(name: string): Promise<ReminderInfo | undefined>;
  /** Cancels the job in all processes. */
  cancel(name: string): Promise<void>;
}

/** `types`: the types of this process. */
export function appReminders(
  node: ReminderNode,
  { namespace, types }: { readonly namespace: string; readonly types: ReadonlyMap<string, ActorType> },
): AppReminders {
  const keyOf = (of: ActorClass | string, id: string, name: string): ReminderKey => {
    const type = typeof of === "string" ? of : (of.options?.name ?? of.name);
    checkType(type);
    checkId(id);
    checkReminderName(name);
    return { namespace, type, id, name };
  };
  const { writer } = node;
  return {
    async set(type, id, name, options) {
      const key = keyOf(type, id, name);
      checkNoJob(key.type);
      if (isActorClass(type)) checkReminders(key.type, type);
      else types.get(key.type)?.checkReminders();
      await writer.write(writer.set(key, options));
    },
    get: async (type, id, name) => writer.get(keyOf(type, id, name)),
    list: async (type, id) => writer.list(keyOf(type, id, "all")),
    async cancel(type, id, name) {
      await writer.write({ kind: "cancel", key: keyOf(type, id, name) });
    },
  };
}

export function appJobs(node: ReminderNode): AppJobs {
  return {
    set: (name, options, handler) => node.setJob(name, options, handler),
    get: (name) => node.getJob(name),
    cancel: (name) => node.cancelJob(name),
  };
}
