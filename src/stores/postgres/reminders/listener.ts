// Listens to notifications of other processes about reminders and workflows. It has a connection of its own,
// from the first watcher until the store is closed. It replaces a lost connection. Notifications are lost
// while there is no connection, so each new connection notifies every watcher that has something due.

import { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { backoffMs } from "../../../kernel/backoff.ts";
import { holdSession } from "../connection/session.ts";
import type { PostgresSettings } from "../connection/settings.ts";
import type { Holders } from "./holders.ts";
import { type Notification, parseNotification, subjectOf, type Topic } from "./notifications.ts";

const FIRST_PAUSE_MS = 100;
/** Well below the grace for a process without a connection (reminder-holders.ts). */
const LONGEST_PAUSE_MS = 1_000;
/** How often a silent connection is pinged. */
const PING_MS = 15_000;
const CLOSE_MS = 1_000;

export interface ListenerOptions {
  readonly settings: PostgresSettings;
  readonly channel: string;
  /** The process ignores its own notifications. */
  readonly self: string;
  /** The connection holds the lock by which other processes see that this one is alive. */
  readonly holders: Holders;
  /** True if a reminder of the namespace is due soon. */
  readonly areDue: (namespace: string) => Promise<boolean>;
  /** Called before the watchers are notified. */
  readonly received: (notification: Notification) => void;
}

/** The watchers of one topic in one namespace. */
interface Watched {
  readonly about: Topic;
  readonly namespace: string;
  readonly listeners: Set<() => void>;
}

export class NotificationListener {
  readonly #options: ListenerOptions;
  readonly #watchers = new Map<string, Watched>();
  readonly #closing = new AbortController();
  #listening: Promise<void> | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  watch(namespace: string, listener: () => void, about?: Topic): () => void {
    const subject = subjectOf(about, namespace);
    const watched = this.#watchers.get(subject) ?? { about, namespace, listeners: new Set() };
    this.#watchers.set(subject, watched);
    const { listeners } = watched;
    listeners.add(listener);
    if (!this.#closing.signal.aborted) this.#listening ??= this.#listen();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#watchers.get(subject) === watched) this.#watchers.delete(subject);
    };
  }

  /** Notifies the watchers that a reminder of the namespace may be claimed. */
  wake(namespace: string): void {
    const watched = this.#watchers.get(subjectOf(undefined, namespace));
    if (watched !== undefined) notify(watched);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#listening;
  }

  async #listen(): Promise<void> {
    const { signal } = this.#closing;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await this.#listenOnce(() => {
          failures = 0;
        });
      } catch {
        // Every user of the store meets the same failure and reports it.
      }
      const ms = backoffMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, Math.random());
      await pause(ms, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Runs until the connection is lost or the listener is closed. */
  async #listenOnce(isReady: () => void): Promise<void> {
    const { settings, channel, holders } = this.#options;
    const { signal } = this.#closing;
    const socket = new Socket();
    const client = new pg.Client({ ...settings.driver, stream: () => socket });
    const ended = new Promise<void>((resolve) => client.once("end", resolve));
    client.once("end", () => holders.ended(client));
    client.on("error", () => undefined);
    client.on("notification", ({ payload }) => this.#receive(payload));
    const cut = () => socket.destroy();
    const leave = () => {
      setTimeout(cut, CLOSE_MS).unref();
      client.end().catch(cut);
    };
    signal.addEventListener("abort", leave);
    let ping: NodeJS.Timeout | undefined;
    try {
      await client.connect();
      await holdSession(client, settings.driver, settings.location);
      await client.query(holders.lockStatement);
      holders.locked(client);
      await client.query(`LISTEN "${channel}"`);
      isReady();
      ping = setInterval(() => client.query("SELECT 1").catch(cut), PING_MS);
      await this.#catchUp();
      await ended;
    } finally {
      holders.ended(client);
      clearInterval(ping);
      signal.removeEventListener("abort", leave);
      socket.destroy();
    }
  }

  #receive(payload: string | undefined): void {
    const notification = parseNotification(payload, this.#options.self);
    if (notification === undefined) return;
    this.#options.received(notification);
    const watched = this.#watchers.get(subjectOf(notification.about, notification.namespace));
    if (watched !== undefined) notify(watched);
  }

  async #catchUp(): Promise<void> {
    for (const watched of [...this.#watchers.values()]) {
      // A watcher of workflows checks by itself: one of several things may have happened.
      if (watched.about === "workflows" || (await this.#options.areDue(watched.namespace))) notify(watched);
    }
  }
}

function notify({ listeners }: Watched): void {
  for (const listener of listeners) listener();
}
