// Notifies other processes of written reminders that are due soon, and of events of workflows, so that they
// need not wait for their next poll. A notification may get lost, and nothing depends on it.
//
// A transaction with NOTIFY takes a lock on the whole server when it commits, and keeps it until the commit
// is on disk: thirty such clients are no faster than three. So the transactions that write do not notify.
// Afterwards one transaction notifies, which writes nothing and waits for no disk. It covers everything
// written meanwhile, and runs at most once every few milliseconds.
import { setTimeout as pause } from "node:timers/promises";
import { texts } from "../connection/arrays.ts";
import type { Connections, Statement } from "../connection/connections.ts";

/** Between two notifications of a process. */
const PAUSE_MS = 5;

/** Something that may be claimed was written in a namespace. */
export interface Notification {
  readonly namespace: string;
  /** When the row is due, if that is so long ago that claims may overlook it. */
  readonly longAgo: number | undefined;
  /** Undefined: reminders. */
  readonly about?: Topic;
}

export type Topic = "workflows" | undefined;

/** Notifications with the same subject are merged. */
export const subjectOf = (about: Topic, namespace: string): string => `${about ?? "reminders"} ${namespace}`;

const notify: Statement = {
  name: "limpet_notify",
  text: "SELECT pg_notify($1, n.notification) FROM unnest($2::text[]) AS n (notification)",
};

export class Announcer {
  readonly #connections: Connections;
  readonly #channel: string;
  readonly #from: string;
  readonly #waiting = new Map<string, Notification>();
  #isBusy = false;

  /** `from` distinguishes the notifications of this process from others. */
  constructor(connections: Connections, channel: string, from: string) {
    this.#connections = connections;
    this.#channel = channel;
    this.#from = from;
  }

  announce(notification: Notification): void {
    const subject = subjectOf(notification.about, notification.namespace);
    const waiting = this.#waiting.get(subject)?.longAgo;
    const isEarlier = waiting === undefined || (notification.longAgo !== undefined && notification.longAgo < waiting);
    this.#waiting.set(subject, isEarlier ? notification : { ...notification, longAgo: waiting });
    if (this.#isBusy) return;
    this.#isBusy = true;
    void this.#connections
      .during(() => this.#notify())
      .catch(() => this.#waiting.clear())
      .finally(() => {
        this.#isBusy = false;
      });
  }

  async #notify(): Promise<void> {
    while (this.#waiting.size > 0) {
      const payloads = [...this.#waiting.values()].map((one) => JSON.stringify({ ...one, from: this.#from }));
      this.#waiting.clear();
      await this.#connections.run(notify, [this.#channel, texts(payloads)], "harmless");
      await pause(PAUSE_MS);
    }
  }
}

/** Parses a notification. Returns nothing if it comes from `self` or is not one of Limpet's. */
export function parseNotification(payload: string | undefined, self: string): Notification | undefined {
  try {
    const { from, namespace, longAgo, about } = JSON.parse(payload ?? "") as Partial<Record<string, unknown>>;
    if (typeof from !== "string" || from === self || typeof namespace !== "string") return undefined;
    const notification = { namespace, longAgo: typeof longAgo === "number" ? longAgo : undefined };
    return about === "workflows" ? { ...notification, about } : notification;
  } catch {
    return undefined;
  }
}
