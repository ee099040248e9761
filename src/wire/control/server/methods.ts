// The gRPC methods of the control server: decode the request, call the service, encode the answer.
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { LimpetError } from "../../../kernel/errors.ts";
import type { ControlService, SchedulerList } from "../../../ports/cluster/control-service.ts";
import type { Log } from "../../../ports/log.ts";
import { type HostReport, Scheduler, type WatchHostsResponse } from "../../proto/gen/limpet/control/v1/control_pb.js";
import { SCHEDULER_LIST } from "../codec/cluster-codec.ts";
import { LEADER_METHODS } from "../codec/leader-methods.ts";
import { asLimpetError, toStatus } from "../codec/status.ts";
import type { ControlLimits } from "../limits.ts";
import { StreamOutbox } from "../outbox.ts";
import { exchangeOf } from "./exchange.ts";
import { HostStream } from "./host-stream.ts";

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
    for (const { label, isView, serve } of Object.values(LEADER_METHODS)) {
      const options = isView ? { writeMaxBytes: this.#limits.viewBytes } : {};
      serve(router, this.#service, (answer) => this.#answer(label, answer), options);
    }
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
      const outbox = new StreamOutbox<SchedulerList, WatchHostsResponse>(1, (list) => [SCHEDULER_LIST.write(list)]);
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
