// A client of another process's scheduler that exists at once. It loads the library of the control stream at
// its first use: a process without a cluster never loads it.

import type { LimpetError } from "../../../kernel/errors.ts";
import type { LeaderAnswer, LeaderRequest } from "../../../ports/admin.ts";
import type { ControlListener, ControlStream, HostMessage, SchedulerMessage } from "../../../ports/control-messages.ts";
import type { Log } from "../../../ports/log.ts";
import type { ClusterSecurity } from "../../cluster-security.ts";
import type { ControlClient, WatchListener } from "./client.ts";
import type { SchedulerClient } from "./watched-schedulers.ts";

export interface ClientSettings {
  readonly security: ClusterSecurity;
  readonly log: Log;
}

export function lazyClient({ security, log }: ClientSettings): (address: string, term: number) => SchedulerClient {
  return (address, term) =>
    new LazyClient(address, term, async () => {
      const { controlClient } = await import("./client.ts");
      return controlClient({ address, security, log });
    });
}

class LazyClient implements SchedulerClient {
  readonly address: string;
  readonly term: number;
  readonly #open: () => Promise<ControlClient>;
  #client: Promise<ControlClient> | undefined;
  #closed = false;

  constructor(address: string, term: number, open: () => Promise<ControlClient>) {
    this.address = address;
    this.term = term;
    this.#open = open;
  }

  #ready(): Promise<ControlClient> {
    this.#client ??= this.#open().then(
      (client) => {
        if (this.#closed) void client.close();
        return client;
      },
      (error) => {
        // The next use retries.
        this.#client = undefined;
        throw error;
      },
    );
    return this.#client;
  }

  /** Messages that are sent before the stream is open are queued until it is. */
  report(listener: ControlListener<SchedulerMessage>): ControlStream<HostMessage> {
    let stream: ControlStream<HostMessage> | undefined;
    let closed = false;
    const early: HostMessage[] = [];
    this.#ready().then(
      (client) => {
        if (closed) return;
        stream = client.report(listener);
        for (const message of early) stream.send(message);
      },
      (error: Error) => listener.closed(error),
    );
    return {
      send(message) {
        if (stream !== undefined) stream.send(message);
        else if (!closed) early.push(message);
      },
      close(error) {
        closed = true;
        stream?.close(error);
      },
    };
  }

  watch(listener: WatchListener): () => void {
    let stop: (() => void) | undefined;
    let stopped = false;
    this.#ready().then(
      (client) => {
        if (!stopped) stop = client.watch(listener);
      },
      (error: LimpetError) => listener.closed(error),
    );
    return () => {
      stopped = true;
      stop?.();
    };
  }

  async admin<R extends LeaderRequest>(request: R): Promise<LeaderAnswer<R>> {
    return (await this.#ready()).admin(request);
  }

  close(): void {
    this.#closed = true;
    this.#client?.then(
      (client) => void client.close(),
      () => {},
    );
  }
}
