// Client of one scheduler: a host's stream, the list of schedulers, and operator requests. It checks every
// received message and reports every failure as a LimpetError.
import { type Client, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { LimpetError } from "../../../kernel/errors.ts";
import { changesState, type LeaderAdmin, type LeaderAnswer, type LeaderRequest } from "../../../ports/admin.ts";
import type { SchedulerList } from "../../../ports/cluster/control-service.ts";
import type { ControlListener, ControlStream, HostMessage, SchedulerMessage } from "../../../ports/control-messages.ts";
import type { Log } from "../../../ports/log.ts";
import type { ClusterSecurity } from "../../cluster-security.ts";
import { Scheduler } from "../../proto/gen/limpet/control/v1/control_pb.js";
import { SCHEDULER_LIST } from "../codec/cluster-codec.ts";
import { leaderMethod } from "../codec/leader-methods.ts";
import { fromStatus } from "../codec/status.ts";
import { parseControlAddress } from "../codec/value-codecs.ts";
import { CONTROL_LIMITS, type ControlLimits } from "../limits.ts";
import { SchedulerConnection } from "./connection.ts";
import { SchedulerStream } from "./scheduler-stream.ts";

export interface ControlClientOptions {
  /** `host:port` of the scheduler. */
  readonly address: string;
  readonly security: ClusterSecurity;
  readonly log: Log;
}

export interface WatchListener {
  list(list: SchedulerList): void;
  /** Called once, last. Without an error when this process stopped the watch. */
  closed(error: LimpetError | undefined): void;
}

export interface ControlClient extends LeaderAdmin {
  /** Opens a host's stream. The listener is notified of its success or failure. */
  report(listener: ControlListener<SchedulerMessage>): ControlStream<HostMessage>;
  /**
   * Notifies the listener of the list of schedulers at once and after every change. The returned function
   * stops it.
   */
  watch(listener: WatchListener): () => void;
  /** ANSWER_LOST: a request that changes state may or may not have been executed. */
  admin<R extends LeaderRequest>(request: R): Promise<LeaderAnswer<R>>;
  /** Ends every stream. Closes the connection once the streams have ended or a time limit has passed. */
  close(): Promise<void>;
}

export function controlClient(options: ControlClientOptions, limits: ControlLimits = CONTROL_LIMITS): ControlClient {
  if (parseControlAddress(options.address) === undefined || !URL.canParse(`http://${options.address}`)) {
    throw new LimpetError(
      "OPTION_INVALID",
      `the address of a scheduler must be like 10.0.0.7:7400; got "${options.address}"`,
    );
  }
  return new GrpcClient(options, limits);
}

class GrpcClient implements ControlClient {
  readonly #address: string;
  readonly #log: Log;
  readonly #limits: ControlLimits;
  readonly #connection: SchedulerConnection;
  readonly #scheduler: Client<typeof Scheduler>;
  /** A client with a larger limit for answers. */
  readonly #describer: Client<typeof Scheduler>;
  readonly #streams = new Set<SchedulerStream>();
  readonly #watches = new Set<() => void>();
  #closed: Promise<void> | undefined;

  constructor({ address, security, log }: ControlClientOptions, limits: ControlLimits) {
    this.#address = address;
    this.#log = log;
    this.#limits = limits;
    this.#connection = new SchedulerConnection(address, security, limits);
    this.#scheduler = this.#client(limits.messageBytes);
    this.#describer = this.#client(limits.viewBytes);
  }

  report(listener: ControlListener<SchedulerMessage>): ControlStream<HostMessage> {
    const { reportActorTypes } = this.#scheduler;
    const deps = { address: this.#address, log: this.#log, limits: this.#limits };
    const stream = new SchedulerStream(reportActorTypes, listener, deps);
    this.#streams.add(stream);
    void stream.over.then(() => this.#streams.delete(stream));
    return stream;
  }

  watch(listener: WatchListener): () => void {
    const stopped = new AbortController();
    const stop = () => stopped.abort();
    this.#watches.add(stop);
    void this.#follow(listener, stopped.signal).then((error) => {
      this.#watches.delete(stop);
      this.#shielded(() => listener.closed(error));
    });
    return stop;
  }

  /** Resolves with the reason of the end. */
  async #follow(listener: WatchListener, signal: AbortSignal): Promise<LimpetError | undefined> {
    try {
      for await (const response of this.#scheduler.watchHosts({}, { signal })) {
        if (signal.aborted) break;
        const list = SCHEDULER_LIST.read(response);
        this.#shielded(() => listener.list(list));
      }
      return undefined;
    } catch (thrown) {
      return signal.aborted ? undefined : fromStatus(thrown, this.#address);
    }
  }

  /** A listener that throws is a bug, but it still gets the next list. */
  #shielded(notify: () => void): void {
    try {
      notify();
    } catch (err) {
      this.#log.error("control.failed", { err });
    }
  }

  async admin<R extends LeaderRequest>(request: R): Promise<LeaderAnswer<R>> {
    const isChange = changesState(request);
    if (isChange) await this.#connection.ready();
    try {
      const method = leaderMethod(request);
      const client = method.isView ? this.#describer : this.#scheduler;
      return await method.call(client, request, { timeoutMs: this.#limits.answerMs });
    } catch (thrown) {
      const error = fromStatus(thrown, this.#address);
      // The request was in flight when the connection or this client was closed.
      if (!isChange || (error.code !== "UNREACHABLE" && this.#closed === undefined)) throw error;
      throw new LimpetError("ANSWER_LOST", error.message, { cause: thrown });
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#leave();
    return this.#closed;
  }

  async #leave(): Promise<void> {
    for (const stop of this.#watches) stop();
    for (const stream of this.#streams) stream.close();
    await Promise.all([...this.#streams].map((stream) => stream.over));
    this.#connection.close();
  }

  #client(readMaxBytes: number): Client<typeof Scheduler> {
    const transport = createGrpcTransport({
      baseUrl: this.#connection.authority,
      sessionManager: this.#connection,
      acceptCompression: [],
      readMaxBytes,
      writeMaxBytes: this.#limits.messageBytes,
      binaryOptions: { readUnknownFields: false },
    });
    return createClient(Scheduler, transport);
  }
}
