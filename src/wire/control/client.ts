// Client of one scheduler: a host's stream, the list of schedulers, and operator requests. It checks every
// received message and reports every failure as a LimpetError.
import { type CallOptions, type Client, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { LimpetError } from "../../kernel/errors.ts";
import type { ControlListener, ControlStream } from "../../ports/control.ts";
import type { HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import type { ClusterView, StickyPage, StickyQuery } from "../../ports/host-admin.ts";
import type { Log } from "../../ports/log.ts";
import type { ShardSteering, ShardsView } from "../../ports/shard-admin.ts";
import type { ClusterSecurity } from "../cluster-security.ts";
import { Scheduler } from "../proto/gen/limpet/control/v1/control_pb.js";
import { parseAddress } from "./checks.ts";
import { readClusterView, readSchedulerList } from "./cluster-codec.ts";
import { Connection } from "./connection.ts";
import { CONTROL_LIMITS, type ControlLimits } from "./limits.ts";
import { SchedulerStream } from "./scheduler-stream.ts";
import type { SchedulerList } from "./service.ts";
import { readShardsView, writeSteering } from "./shards-view-codec.ts";
import { fromStatus } from "./status.ts";
import { writeActorKey } from "./sticky-codec.ts";
import { readStickyPage, writeStickyQuery } from "./sticky-page-codec.ts";

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

export interface ControlClient {
  /** Opens a host's stream. The listener is notified of its success or failure. */
  report(listener: ControlListener<SchedulerMessage>): ControlStream<HostMessage>;
  /**
   * Notifies the listener of the list of schedulers at once and after every change. The returned function
   * stops it.
   */
  watch(listener: WatchListener): () => void;
  describe(): Promise<ClusterView>;
  /** ANSWER_LOST: the host may or may not have received the request to drain. */
  drain(host: string): Promise<void>;
  /** Sticky actors of one namespace: at most LIMITS.listPage of them, and where the next page begins. */
  sticky(namespace: string, query: StickyQuery): Promise<StickyPage>;
  /** ANSWER_LOST: the host that holds the actor may or may not have received the request to release it. */
  release(namespace: string, type: string, id: string): Promise<void>;
  shards(namespace: string, type: string): Promise<ShardsView>;
  /** ANSWER_LOST: the operation may or may not have been executed. */
  steerShards(namespace: string, type: string, steering: ShardSteering): Promise<void>;
  /** Ends every stream. Closes the connection once the streams have ended or a time limit has passed. */
  close(): Promise<void>;
}

export function controlClient(options: ControlClientOptions, limits: ControlLimits = CONTROL_LIMITS): ControlClient {
  if (parseAddress(options.address) === undefined || !URL.canParse(`http://${options.address}`)) {
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
  readonly #connection: Connection;
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
    this.#connection = new Connection(address, security, limits);
    this.#scheduler = this.#client(limits.messageBytes);
    this.#describer = this.#client(limits.viewBytes);
  }

  report(listener: ControlListener<SchedulerMessage>): ControlStream<HostMessage> {
    const { reportActorTypes } = this.#scheduler;
    const needs = { address: this.#address, log: this.#log, limits: this.#limits };
    const stream = new SchedulerStream(reportActorTypes, listener, needs);
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
        const list = readSchedulerList(response);
        this.#shielded(() => listener.list(list));
      }
      return undefined;
    } catch (thrown) {
      return signal.aborted ? undefined : fromStatus(thrown, this.#address);
    }
  }

  /** A listener that throws is a bug, but it still gets the next list. */
  #shielded(tell: () => void): void {
    try {
      tell();
    } catch (err) {
      this.#log.error("control.failed", { err });
    }
  }

  describe(): Promise<ClusterView> {
    return this.#ask(async (soon) => readClusterView(await this.#describer.describeCluster({}, soon)));
  }

  drain(host: string): Promise<void> {
    return this.#order((soon) => this.#scheduler.drainHost({ host }, soon));
  }

  sticky(namespace: string, query: StickyQuery): Promise<StickyPage> {
    return this.#ask(async (soon) =>
      readStickyPage(await this.#scheduler.listSticky(writeStickyQuery(namespace, query), soon)),
    );
  }

  release(namespace: string, type: string, id: string): Promise<void> {
    const actorKey = writeActorKey({ type, id });
    return this.#order((soon) => this.#scheduler.releaseSticky({ namespace, actorKey }, soon));
  }

  shards(namespace: string, type: string): Promise<ShardsView> {
    const request = { namespace, actorType: type };
    return this.#ask(async (soon) => readShardsView(type, await this.#describer.describeShards(request, soon)));
  }

  steerShards(namespace: string, type: string, steering: ShardSteering): Promise<void> {
    return this.#order((soon) => this.#scheduler.steerShards(writeSteering(namespace, type, steering), soon));
  }

  /** Sends a request that changes nothing and may be retried. */
  async #ask<T>(question: (soon: CallOptions) => Promise<T>): Promise<T> {
    try {
      return await question({ timeoutMs: this.#limits.answerMs });
    } catch (error) {
      throw fromStatus(error, this.#address);
    }
  }

  /** Sends a request that changes state. Without an answer the caller cannot know whether it was executed. */
  async #order(order: (soon: CallOptions) => Promise<unknown>): Promise<void> {
    await this.#connection.ready();
    try {
      await order({ timeoutMs: this.#limits.answerMs });
    } catch (thrown) {
      const error = fromStatus(thrown, this.#address);
      // The request was in flight when the connection or this client was closed.
      if (error.code !== "UNREACHABLE" && this.#closed === undefined) throw error;
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
