// A process that calls actors and hosts none: it receives tables from the leader, and calls the owners of
// actors directly. It has no store, no lease and no server, and no round waits for it.
import { Catalog } from "../actors/catalog.ts";
import { ClusterRouting } from "../actors/routing/cluster-routing.ts";
import { OPTIONS } from "../config/options.ts";
import { parseDuration } from "../kernel/durations.ts";
import { ownIdentity } from "../placement/discovery/process-identity.ts";
import { HostInstruments } from "../placement/host/metrics.ts";
import { NOWHERE } from "../ports/control-messages.ts";
import { type Log, silentLog } from "../ports/log.ts";
import { silentMeter } from "../ports/meter.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { lazyClient } from "../wire/control/client/lazy-client.ts";
import { WatchedSchedulers } from "../wire/control/client/watched-schedulers.ts";
import { openLinks } from "../wire/link/links.ts";
import { type HostPlacement, openHostPlacement } from "./host-placement.ts";
import { systemClock as clock, systemRandom as random } from "./system.ts";

export interface ClusterClientSettings {
  /** Schedulers, or hosts that run one, as `host:port`. Any of them is enough. */
  readonly schedulers: readonly string[];
  readonly namespace: string;
  readonly keys: readonly string[];
  /** Secret of the store, for a cluster without a key. */
  readonly secret?: string;
  readonly timeoutMs: number | undefined;
  readonly log?: Log;
}

export interface ClientCall {
  readonly type: string;
  readonly id: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

export class ClusterClient {
  readonly #catalog: Catalog;
  readonly #placement: HostPlacement;
  readonly #source: WatchedSchedulers;
  readonly #links: ReturnType<typeof openLinks>;
  readonly #routing: ClusterRouting;
  #closing: Promise<void> | undefined;

  constructor({ schedulers, namespace, keys, secret, timeoutMs, log = silentLog }: ClusterClientSettings) {
    const security = { keys, secret };
    const patience = parseDuration(String(OPTIONS.storeTimeout.default), "storeTimeout");
    this.#catalog = new Catalog(
      [],
      {
        namespace,
        idleTimeoutMs: Number.POSITIVE_INFINITY,
        callTimeoutMs: timeoutMs ?? parseDuration(String(OPTIONS.callTimeout.default), "callTimeout"),
        mailboxLimit: 1,
        maxResident: 1,
        drainTimeoutMs: 0,
        storeTimeoutMs: patience,
      },
      { clock, random, log, meter: silentMeter, store: new MemoryStore() },
    );
    this.#links = openLinks({ address: NOWHERE, namespace, security, log });
    this.#source = new WatchedSchedulers(schedulers, { clock, random, log, connect: lazyClient({ security, log }) });
    this.#placement = openHostPlacement(
      { namespace, address: NOWHERE, name: "client", moveTimeoutMs: 0 },
      {
        clock,
        random,
        log,
        identity: ownIdentity,
        instruments: new HostInstruments(silentMeter, namespace),
        source: this.#source,
        catalog: this.#catalog,
        changed: (types) => {
          this.#links.retain(this.#placement.tables.addresses());
          routing.changed(types);
        },
        opened: (type, shards) => routing.opened(type, shards),
        answered: (type, id, error) => routing.answered(type, id, error),
      },
    );
    const routing = new ClusterRouting(this.#catalog, {
      placement: this.#placement.resolver,
      links: this.#links,
      clock,
    });
    this.#catalog.join(routing);
    this.#routing = routing;
    this.#source.start();
    this.#placement.membership.start();
  }

  /** The caller has checked the names. */
  call({ type, id, method, args, timeoutMs, signal }: ClientCall): Promise<unknown> {
    return this.#catalog.calls.call(type, id, method, args, { timeoutMs, signal });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#catalog.close();
    this.#routing.close();
    this.#placement.membership.goodbye();
    this.#source.stop();
    await this.#links.close();
  }
}
