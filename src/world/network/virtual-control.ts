// The streams between hosts and schedulers of a virtual world: the messages of the real server and its
// client, on connections of the virtual network. Every stream and every request has its own connection.
import { type ErrorCode, invariant, LimpetError } from "../../kernel/errors.ts";
import { changesState, type LeaderAnswer, type LeaderRequest } from "../../ports/admin.ts";
import type { ControlService, SchedulerList } from "../../ports/cluster/control-service.ts";
import type { ControlListener, ControlStream, HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import type { WatchListener } from "../../wire/control/client/client.ts";
import type { SchedulerClient } from "../../wire/control/client/watched-schedulers.ts";
import { asLimpetError } from "../../wire/control/codec/status.ts";
import { CONTROL_LIMITS } from "../../wire/control/limits.ts";
import { KIND } from "../timeline.ts";
import type { End, Ending, Network, NetworkListening, Patience, Receiver, Station } from "./network.ts";

const PATIENCE: Patience = {
  connectMs: CONTROL_LIMITS.connectMs,
  tickMs: CONTROL_LIMITS.tickMs,
  silentTicks: CONTROL_LIMITS.silentTicks,
  queue: CONTROL_LIMITS.queue,
};

type Parting = { readonly code: string; readonly message: string };

/** Messages on the network; `about` names the kind. */
export type VirtualControlMessage =
  | { readonly about: "report" }
  | { readonly about: "watch" }
  | { readonly about: "admin"; readonly request: LeaderRequest }
  | { readonly about: "host"; readonly message: HostMessage }
  | { readonly about: "scheduler"; readonly message: SchedulerMessage }
  | { readonly about: "list"; readonly list: SchedulerList }
  | { readonly about: "answer"; readonly answer: LeaderAnswer<LeaderRequest> }
  | { readonly about: "parting"; readonly error: Parting | undefined };

/** The client's side of a stream. */
interface Talk {
  send(message: VirtualControlMessage): void;
  close(error?: Parting): void;
}

const lost = (address: string, how: Ending): LimpetError =>
  how === "full"
    ? new LimpetError("LINK_FULL", `${address} does not read what it is sent`)
    : new LimpetError("UNREACHABLE", `the stream to ${address} is over: ${how}`);

const STOPPING: Parting = { code: "STOPPING", message: "this scheduler is stopping" };
const closed = (): LimpetError => new LimpetError("STOPPING", "this process has closed its connection");

const rebuild = ({ code, message }: Parting): LimpetError => new LimpetError(code as ErrorCode, message);

export class VirtualScheduler implements SchedulerClient {
  readonly address: string;
  readonly term: number;
  readonly #network: Network;
  readonly #station: Station;
  readonly #open = new Set<() => void>();
  #isClosed = false;

  constructor(address: string, term: number, network: Network, station: Station) {
    this.address = address;
    this.term = term;
    this.#network = network;
    this.#station = station;
  }

  #connect(first: VirtualControlMessage, receiver: Receiver): End {
    const end = this.#network.connect(this.#station, this.address, PATIENCE, receiver);
    end.send(first);
    return end;
  }

  report(listener: ControlListener<SchedulerMessage>): ControlStream<HostMessage> {
    const { send, close } = this.#stream({ about: "report" }, listener, (received) => {
      if (received.about === "scheduler") listener.message(received.message);
    });
    return { send: (message) => send({ about: "host", message }), close };
  }

  watch(listener: WatchListener): () => void {
    const { close } = this.#stream({ about: "watch" }, listener, (received) => {
      if (received.about === "list") listener.list(received.list);
    });
    return () => close();
  }

  /** A long-lived stream. Its listener is notified once of its end, and gets nothing after that. */
  #stream(
    first: VirtualControlMessage,
    listener: Pick<WatchListener, "closed">,
    receive: (message: VirtualControlMessage) => void,
  ): Talk {
    if (this.#isClosed) {
      queueMicrotask(() => listener.closed(closed()));
      return { send() {}, close() {} };
    }
    let isOver = false;
    const over = (error: LimpetError | undefined): void => {
      if (isOver) return;
      isOver = true;
      this.#open.delete(stop);
      listener.closed(error);
    };
    const end = this.#connect(first, {
      message: (message) => {
        const received = message as VirtualControlMessage;
        if (isOver) return;
        if (received.about === "parting") {
          end.close();
          over(received.error && rebuild(received.error));
        } else {
          receive(received);
        }
      },
      ended: (how) => over(how === "closed" ? undefined : lost(this.address, how)),
    });
    const close = (error?: Parting): void => {
      if (isOver) return;
      // A client that only listens sends nothing at the end either.
      if (first.about === "report") end.send({ about: "parting", error } satisfies VirtualControlMessage);
      end.close();
      queueMicrotask(() => over(undefined));
    };
    const stop = (): void => close();
    this.#open.add(stop);
    const send = (message: VirtualControlMessage): void => {
      if (!isOver) end.send(message);
    };
    return { send, close };
  }

  admin<R extends LeaderRequest>(request: R): Promise<LeaderAnswer<R>> {
    if (this.#isClosed) return Promise.reject(closed());
    const { timeline } = this.#network;
    return new Promise((resolve, reject) => {
      const over = (): void => {
        late.cancel();
        end.close();
        this.#open.delete(stop);
      };
      const fail = (error: LimpetError): void => {
        const wasAsked = !end.isConnecting;
        over();
        reject(wasAsked && changesState(request) ? new LimpetError("ANSWER_LOST", error.message) : error);
      };
      const end = this.#connect(
        { about: "admin", request },
        {
          message: (message) => {
            const received = message as VirtualControlMessage;
            over();
            if (received.about === "answer") resolve(received.answer as LeaderAnswer<R>);
            else if (received.about === "parting" && received.error !== undefined) reject(rebuild(received.error));
          },
          ended: (how) => fail(lost(this.address, how)),
        },
      );
      const stop = (): void => fail(closed());
      this.#open.add(stop);
      const late = timeline.plan(timeline.now + CONTROL_LIMITS.answerMs, KIND.timer, this.#station, () =>
        fail(new LimpetError("UNREACHABLE", `${this.address} did not answer in time`)),
      );
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const stop of [...this.#open]) stop();
  }
}

export class VirtualControlServer {
  readonly address: string;
  readonly #service: ControlService;
  readonly #listening: NetworkListening;
  /** Open streams, with the function that ends each when the scheduler stops. */
  readonly #ends = new Map<End, () => void>();

  constructor(address: string, service: ControlService, network: Network, station: Station) {
    this.address = address;
    this.#service = service;
    this.#listening = network.listen(address, station, (end) => this.#accept(end));
  }

  #accept(end: End): Receiver {
    this.#ends.set(end, () => end.close());
    let behind: Receiver | undefined;
    return {
      message: (message) => {
        const received = message as VirtualControlMessage;
        if (behind === undefined) behind = this.#begin(end, received);
        else behind.message(received);
      },
      ended: (how) => {
        this.#ends.delete(end);
        behind?.ended(how);
      },
    };
  }

  #begin(end: End, first: VirtualControlMessage): Receiver {
    switch (first.about) {
      case "report":
        return this.#report(end);
      case "watch": {
        const unwatch = this.#service.watch((list) =>
          end.send({ about: "list", list } satisfies VirtualControlMessage),
        );
        this.#ends.set(end, () => {
          end.send({ about: "parting", error: STOPPING } satisfies VirtualControlMessage);
          end.close();
          unwatch();
        });
        return { message() {}, ended: unwatch };
      }
      case "admin":
        return this.#answer(end, this.#service.admin(first.request));
      default:
        invariant(false, `a connection begins with a stream or a request, not with ${first.about}`);
    }
  }

  #answer(end: End, answer: Promise<LeaderAnswer<LeaderRequest>>): Receiver {
    answer.then(
      (given) => end.send({ about: "answer", answer: given } satisfies VirtualControlMessage),
      (error: unknown) => {
        const { code, message } = asLimpetError(error);
        end.send({ about: "parting", error: { code, message } } satisfies VirtualControlMessage);
      },
    );
    return { message() {}, ended() {} };
  }

  #report(end: End): Receiver {
    let isOver = false;
    const over = (error: LimpetError | undefined): void => {
      if (isOver) return;
      isOver = true;
      // The service is notified after its current work.
      queueMicrotask(() => listener.closed(error));
    };
    const stream: ControlStream<SchedulerMessage> = {
      send: (message) => {
        if (!isOver) end.send({ about: "scheduler", message } satisfies VirtualControlMessage);
      },
      close: (error) => {
        if (isOver) return;
        end.send({
          about: "parting",
          error: error && { code: error.code, message: error.message },
        } satisfies VirtualControlMessage);
        this.#ends.delete(end);
        end.close();
        over(undefined);
      },
    };
    const listener = this.#service.report(stream, { address: "10.0.0.0", sameMachine: false });
    if (!isOver) this.#ends.set(end, () => stream.close(STOPPING));
    return {
      message: (message) => {
        const received = message as VirtualControlMessage;
        if (isOver) return;
        if (received.about === "host") listener.message(received.message);
        else if (received.about === "parting") over(received.error && rebuild(received.error));
      },
      ended: (how) => over(how === "closed" ? undefined : lost("a host", how)),
    };
  }

  async close(): Promise<void> {
    this.#listening.close();
    const stops = [...this.#ends.values()];
    this.#ends.clear();
    for (const stop of stops) stop();
  }
}
