// All links of a host, by address. A link connects at its first call, and again after its connection was
// lost. After a failed attempt it pauses, longer each time, and rejects calls at once during the pause.

import { AsyncLocalStorage } from "node:async_hooks";
import { parseAddress } from "../../kernel/addresses.ts";
import { backoffMs } from "../../kernel/backoff.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { Cancel, Links, RemoteCall, RemoteCaller } from "../../ports/links.ts";
import type { Log } from "../../ports/log.ts";
import type { ClusterSecurity } from "../cluster-security.ts";
import { unreachable } from "./connect.ts";
import { LINK_LIMITS, type LinkLimits } from "./limits.ts";
import { Outbound, type OutboundDeps, type OutboundSettings } from "./outbound.ts";
import { refuseCall } from "./outgoing-call.ts";

export interface LinksSettings {
  /** The address for calls to this host; "" when it accepts none. */
  readonly address: string;
  readonly namespace: string;
  readonly security: ClusterSecurity;
  readonly log: Log;
  readonly connectTimeoutMs?: number;
  /** The version of Limpet. */
  readonly version?: string;
}

export function openLinks(settings: LinksSettings, limits: LinkLimits = LINK_LIMITS): Links {
  const { address, namespace, security, log, connectTimeoutMs = limits.connectMs, version = "" } = settings;
  const own = { namespace, address, version };
  return new HostLinks({ own, security, log, limits: { ...limits, connectMs: connectTimeoutMs } });
}

class HostLinks implements Links {
  readonly #settings: OutboundSettings;
  readonly #links = new Map<string, Link>();
  readonly #outside: Outside = AsyncLocalStorage.snapshot();
  #isClosed = false;

  constructor(settings: OutboundSettings) {
    this.#settings = settings;
  }

  call(address: string, call: RemoteCall, caller: RemoteCaller): Cancel {
    const { log } = this.#settings;
    if (this.#isClosed) return refuseCall("unsent", caller, stopping(), log);
    let link = this.#links.get(address);
    if (link === undefined) {
      const at = parseAddress(address);
      if (at === undefined) return refuseCall("unsent", caller, unreachable(address, "it is not an address"), log);
      link = new Link(address, at, this.#settings, this.#outside, () => this.#links.delete(address));
      this.#links.set(address, link);
    }
    return link.call(call, caller);
  }

  retain(addresses: ReadonlySet<string>): void {
    for (const [address, link] of this.#links) if (!addresses.has(address)) link.letGo();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const link of this.#links.values()) link.close();
  }
}

const stopping = (): LimpetError => new LimpetError("STOPPING", "this host is stopping");

/**
 * Runs `make` outside of every call context, so that a connection does not belong to the call that opened it.
 */
type Outside = (make: () => Outbound) => Outbound;

/** Connections to one address: at most one that takes calls, and others that wait for their last answers. */
class Link implements OutboundDeps {
  readonly #address: string;
  readonly #at: { readonly host: string; readonly port: number };
  readonly #settings: OutboundSettings;
  readonly #outside: Outside;
  readonly #onUnused: () => void;
  readonly #leaving = new Set<Outbound>();
  #current: Outbound | undefined;
  #failures = 0;
  #pausedUntil = 0;
  #problem: LimpetError | undefined;

  constructor(
    address: string,
    at: { readonly host: string; readonly port: number },
    settings: OutboundSettings,
    outside: Outside,
    onUnused: () => void,
  ) {
    this.#address = address;
    this.#at = at;
    this.#settings = settings;
    this.#outside = outside;
    this.#onUnused = onUnused;
  }

  call(call: RemoteCall, caller: RemoteCaller): Cancel {
    if (this.#current === undefined) {
      const paused = this.#pauseProblem();
      if (paused !== undefined) return refuseCall("unsent", caller, paused, this.#settings.log);
      this.#current = this.#outside(() => new Outbound(this.#address, this.#at, this.#settings, this));
    }
    return this.#current.call(call, caller);
  }

  letGo(): void {
    this.#failures = 0;
    this.#current?.leave();
    this.#forgetIfUnused();
  }

  close(): void {
    const reason = stopping();
    this.#failures = 0;
    this.#current?.close(reason);
    for (const outbound of this.#leaving) outbound.close(reason);
    this.#forgetIfUnused();
  }

  proven(): void {
    this.#failures = 0;
    this.#problem = undefined;
  }

  leaving(outbound: Outbound): void {
    if (this.#current === outbound) this.#current = undefined;
    this.#leaving.add(outbound);
  }

  ended(outbound: Outbound, reason: LimpetError, isProven: boolean): void {
    const { log } = this.#settings;
    const address = this.#address;
    if (this.#current === outbound) {
      this.#current = undefined;
      if (reason.code === "STOPPING") log.debug("link.closed", { address });
      else if (!isProven) this.#failed(reason);
      else if (reason.code === "PROTOCOL") log.warn("link.refused", { address, why: reason.message });
      else log.info("link.lost", { address, why: reason.message });
    }
    this.#leaving.delete(outbound);
    this.#forgetIfUnused();
  }

  #failed(reason: LimpetError): void {
    const { log, limits } = this.#settings;
    // Logged once, not at every attempt.
    const event = reason.code === "PROTOCOL" ? "link.refused" : "link.unreachable";
    if (this.#failures === 0) log.warn(event, { address: this.#address, why: reason.message });
    this.#problem = reason;
    this.#pausedUntil = performance.now() + backoffMs(this.#failures, limits.pauseMs, limits.longestPauseMs);
    this.#failures++;
  }

  #pauseProblem(): LimpetError | undefined {
    if (this.#failures === 0 || performance.now() >= this.#pausedUntil) return undefined;
    return unreachable(this.#address, "the last attempt failed just now", this.#problem);
  }

  /** The record of a failed address stays until the link is released. */
  #forgetIfUnused(): void {
    if (this.#current === undefined && this.#leaving.size === 0 && this.#failures === 0) this.#onUnused();
  }
}
