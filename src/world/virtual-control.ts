// The streams between hosts and schedulers of a virtual world: what the real door and its client say, on connections of the
// virtual network. Every stream and every question has a connection of its own.
import { type ErrorCode, LimpetError } from "../kernel/errors.ts";
import type { SchedulerClient } from "../nodes/watched-schedulers.ts";
import type { HostMessage, SchedulerMessage } from "../placement/messages.ts";
import type { ControlListener, ControlStream } from "../ports/control.ts";
import type { ClusterView } from "../ports/host.ts";
import type { WatchListener } from "../wire/control/client.ts";
import { CONTROL_LIMITS } from "../wire/control/limits.ts";
import type { ControlService, SchedulerList } from "../wire/control/service.ts";
import { rebuildTold, tellError } from "../wire/told-error.ts";
import type { End, Ending, Listening, Network, Patience, Receiver, Station } from "./network.ts";

const PATIENCE: Patience = {
  connectMs: CONTROL_LIMITS.connectMs,
  tickMs: CONTROL_LIMITS.tickMs,
  silentTicks: CONTROL_LIMITS.silentTicks,
  queue: CONTROL_LIMITS.queue,
};

type Parting = { readonly code: string; readonly message: string };

/** What travels: the first word says what it is about. */
export type Said =
  | { readonly about: "report" }
  | { readonly about: "watch" }
  | { readonly about: "describe" }
  | { readonly about: "drain"; readonly host: string }
  | { readonly about: "host"; readonly message: HostMessage }
  | { readonly about: "scheduler"; readonly message: SchedulerMessage }
  | { readonly about: "list"; readonly list: SchedulerList }
  | { readonly about: "answer"; readonly view: ClusterView | undefined }
  | { readonly about: "parting"; readonly error: Parting | undefined };

const lost = (address: string, how: Ending): LimpetError =>
  how === "full"
    ? new LimpetError("LINK_FULL", `${address} does not read what it is sent`)
    : new LimpetError("UNREACHABLE", `the stream to ${address} is over: ${how}`);

const rebuild = ({ code, message }: Parting): LimpetError => new LimpetError(code as ErrorCode, message);

export class VirtualScheduler implements SchedulerClient {
  readonly address: string;
  readonly term: number;
  readonly #network: Network;
  readonly #station: Station;
  readonly #open = new Set<() => void>();

  constructor(address: string, term: number, network: Network, station: Station) {
    this.address = address;
    this.term = term;
    this.#network = network;
    this.#station = station;
  }

  #connect(first: Said, receiver: Receiver): End {
    const end = this.#network.connect(this.#station, this.address, PATIENCE, receiver);
    end.send(first);
    return end;
  }

  report(listener: ControlListener<SchedulerMessage>): ControlStream<HostMessage> {
    let isOver = false;
    const over = (error: LimpetError | undefined): void => {
      if (isOver) return;
      isOver = true;
      this.#open.delete(stop);
      listener.closed(error);
    };
    const end = this.#connect(
      { about: "report" },
      {
        message: (message) => {
          const said = message as Said;
          if (isOver) return;
          if (said.about === "scheduler") listener.message(said.message);
          else if (said.about === "parting") {
            end.close();
            over(said.error && rebuild(said.error));
          }
        },
        ended: (how) => over(how === "closed" ? undefined : lost(this.address, how)),
      },
    );
    const close = (error?: Parting): void => {
      if (isOver) return;
      end.send({ about: "parting", error } satisfies Said);
      end.close();
      queueMicrotask(() => over(undefined));
    };
    const stop = (): void => close();
    this.#open.add(stop);
    return {
      send: (message) => {
        if (!isOver) end.send({ about: "host", message } satisfies Said);
      },
      close,
    };
  }

  watch(listener: WatchListener): () => void {
    let isOver = false;
    const over = (error: LimpetError | undefined): void => {
      if (isOver) return;
      isOver = true;
      this.#open.delete(stop);
      listener.closed(error);
    };
    const end = this.#connect(
      { about: "watch" },
      {
        message: (message) => {
          const said = message as Said;
          if (said.about === "list" && !isOver) listener.list(said.list);
        },
        ended: (how) => over(how === "closed" ? undefined : lost(this.address, how)),
      },
    );
    const stop = (): void => {
      end.close();
      queueMicrotask(() => over(undefined));
    };
    this.#open.add(stop);
    return stop;
  }

  #ask(question: Said): Promise<ClusterView | undefined> {
    return new Promise((resolve, reject) => {
      const end = this.#connect(question, {
        message: (message) => {
          const said = message as Said;
          end.close();
          if (said.about === "answer") resolve(said.view);
          else if (said.about === "parting" && said.error !== undefined) reject(rebuild(said.error));
        },
        ended: (how) => reject(lost(this.address, how)),
      });
    });
  }

  async describe(): Promise<ClusterView> {
    return (await this.#ask({ about: "describe" })) as ClusterView;
  }

  async drain(host: string): Promise<void> {
    await this.#ask({ about: "drain", host });
  }

  close(): void {
    for (const stop of [...this.#open]) stop();
  }
}

export class VirtualControlDoor {
  readonly address: string;
  readonly #service: ControlService;
  readonly #listening: Listening;
  readonly #ends = new Set<End>();

  constructor(address: string, service: ControlService, network: Network, station: Station) {
    this.address = address;
    this.#service = service;
    this.#listening = network.listen(address, station, (end) => this.#accept(end));
  }

  #accept(end: End): Receiver {
    this.#ends.add(end);
    let behind: Receiver | undefined;
    return {
      message: (message) => {
        const said = message as Said;
        if (behind === undefined) behind = this.#begin(end, said);
        else behind.message(said);
      },
      ended: (how) => {
        this.#ends.delete(end);
        behind?.ended(how);
      },
    };
  }

  #begin(end: End, first: Said): Receiver {
    switch (first.about) {
      case "report":
        return this.#report(end);
      case "watch": {
        const stop = this.#service.watch((list) => end.send({ about: "list", list } satisfies Said));
        return { message() {}, ended: stop };
      }
      case "drain":
        return this.#answer(
          end,
          this.#service.drain(first.host).then(() => undefined),
        );
      default:
        return this.#answer(end, this.#service.describe());
    }
  }

  #answer(end: End, answer: Promise<ClusterView | undefined>): Receiver {
    answer.then(
      (view) => end.send({ about: "answer", view: view ?? undefined } satisfies Said),
      (error: unknown) => {
        const { code, message } = rebuildTold(tellError(error)) as LimpetError;
        end.send({ about: "parting", error: { code, message } } satisfies Said);
      },
    );
    return { message() {}, ended() {} };
  }

  #report(end: End): Receiver {
    let isOver = false;
    const over = (error: LimpetError | undefined): void => {
      if (isOver) return;
      isOver = true;
      // The service hears of it when whatever it is doing is done.
      queueMicrotask(() => listener.closed(error));
    };
    const listener = this.#service.report(
      {
        send: (message) => {
          if (!isOver) end.send({ about: "scheduler", message } satisfies Said);
        },
        close: (error) => {
          if (isOver) return;
          end.send({ about: "parting", error } satisfies Said);
          this.#ends.delete(end);
          end.close();
          over(undefined);
        },
      },
      { address: "10.0.0.0", sameMachine: false },
    );
    return {
      message: (message) => {
        const said = message as Said;
        if (isOver) return;
        if (said.about === "host") listener.message(said.message);
        else if (said.about === "parting") over(said.error && rebuild(said.error));
      },
      ended: (how) => over(how === "closed" ? undefined : lost("a host", how)),
    };
  }

  async close(): Promise<void> {
    this.#listening.close();
    for (const end of this.#ends) end.close();
    this.#ends.clear();
  }
}
