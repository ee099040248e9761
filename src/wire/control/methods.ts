// The gRPC methods of the control server: decode the request, call the service, encode the answer.
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { LimpetError } from "../../kernel/errors.ts";
import type { Log } from "../../ports/log.ts";
import { type HostReport, Scheduler, type WatchHostsResponse } from "../proto/gen/limpet/control/v1/control_pb.js";
import { readId, readWord } from "./checks.ts";
import { writeClusterView, writeSchedulerList } from "./cluster-codec.ts";
import { exchangeOf } from "./exchange.ts";
import { HostStream } from "./host-stream.ts";
import type { ControlLimits } from "./limits.ts";
import { Outbox } from "./outbox.ts";
import type { ControlService, SchedulerList } from "./service.ts";
import { readSteering, writeShardsView } from "./shards-view-codec.ts";
import { asLimpetError, toStatus } from "./status.ts";
import { readActorKey } from "./sticky-codec.ts";
import { readStickyQuery, writeStickyPage } from "./sticky-page-codec.ts";

const STOPPING = new LimpetError("STOPPING", "this scheduler is stopping");

export class Methods {
  readonly #service: ControlService;
  readonly #log: Log;
  readonly #limits: ControlLimits;
  /** Callbacks that notify the open streams of the end of the server. */
  readonly #stops = new Set<() => void>();

  constructor(service: ControlService, log: Log, limits: ControlLimits) {
    this.#service = service;
    this.#log = log;
    this.#limits = limits;
  }

  register(router: ConnectRouter): void {
    const { method } = Scheduler;
    router.rpc(method.reportActorTypes, (reports, context) => this.#report(reports, context));
    router.rpc(method.watchHosts, (_, context) => this.#watch(context));
    router.rpc(
      method.describeCluster,
      () => this.#answer("describe", async () => writeClusterView(await this.#service.describe())),
      { writeMaxBytes: this.#limits.viewBytes },
    );
    router.rpc(method.drainHost, ({ host }) =>
      this.#answer("drain", async () => {
        await this.#service.drain(readId(host, "the host to drain"));
        return {};
      }),
    );
    router.rpc(method.listSticky, (request) =>
      this.#answer("sticky", async () => {
        const { namespace, query } = readStickyQuery(request);
        return writeStickyPage(await this.#service.sticky(namespace, query));
      }),
    );
    router.rpc(method.releaseSticky, ({ namespace, actorKey }) =>
      this.#answer("release", async () => {
        const { type, id } = readActorKey(actorKey);
        await this.#service.release(readWord(namespace, "namespace"), type, id);
        return {};
      }),
    );
    router.rpc(
      method.describeShards,
      ({ namespace, actorType }) =>
        this.#answer("shards", async () => {
          const [where, type] = [readWord(namespace, "namespace"), readWord(actorType, "actor type")];
          return writeShardsView(await this.#service.shards(where, type));
        }),
      { writeMaxBytes: this.#limits.viewBytes },
    );
    router.rpc(method.steerShards, (request) =>
      this.#answer("steer", async () => {
        const { namespace, type, steering } = readSteering(request);
        await this.#service.steerShards(namespace, type, steering);
        return {};
      }),
    );
  }

  /** Ends every stream with the reason. */
  stop(): void {
    for (const stop of this.#stops) stop();
  }

  #report(reports: AsyncIterable<HostReport>, context: HandlerContext) {
    return this.#open("report", context, () => {
      const exchange = exchangeOf(context.values);
      const stream = new HostStream({
        service: this.#service,
        peer: exchange.peer,
        over: context.signal,
        cut: () => exchange.cut(),
        log: this.#log,
        limits: this.#limits,
      });
      return [stream.serve(reports), () => stream.close(STOPPING)];
    });
  }

  #watch(context: HandlerContext) {
    return this.#open("watch", context, () => {
      const outbox = new Outbox<SchedulerList, WatchHostsResponse>(1, (list) => [writeSchedulerList(list)]);
      const unwatch = this.#service.watch((list) => outbox.replace(list));
      const over = () => {
        outbox.cut();
        try {
          unwatch();
        } catch (err) {
          this.#log.error("control.failed", { method: "watch", err });
        }
      };
      context.signal.addEventListener("abort", over, { once: true });
      if (context.signal.aborted) over();
      return [outbox, () => outbox.end(toStatus(STOPPING))];
    });
  }

  #open<T>(what: string, { signal }: HandlerContext, begin: () => readonly [AsyncIterable<T>, () => void]) {
    try {
      const [messages, stop] = begin();
      this.#stops.add(stop);
      signal.addEventListener("abort", () => this.#stops.delete(stop), { once: true });
      return messages;
    } catch (error) {
      throw this.#failed(what, error);
    }
  }

  async #answer<T>(what: string, answer: () => Promise<T>): Promise<T> {
    try {
      return await answer();
    } catch (error) {
      throw this.#failed(what, error);
    }
  }

  #failed(method: string, thrown: unknown) {
    const error = asLimpetError(thrown);
    if (error.code === "INVARIANT") this.#log.error("control.failed", { method, err: thrown });
    return toStatus(error);
  }
}
