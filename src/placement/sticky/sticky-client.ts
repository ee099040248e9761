// A host's requests to the leader about sticky actors. placement/model/sticky-holdings.ts keeps the state;
// this file sends requests, claims and releases in batches, and passes the answers on.
//
// On a new stream the host first claims all actors it holds, a few chunks at a time, so that lease renewals
// get through in between. Then it repeats all requests without an answer. Without a stream it sends nothing:
// the next stream starts from the full state.
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { compareNames } from "../../kernel/names.ts";
import type { ActiveActor, ActorHost, ActorTypeInfo, ResolvedSticky } from "../../ports/actor-host.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostFeature } from "../../ports/cluster/host-feature.ts";
import type {
  ControlStream,
  HostMessage,
  SchedulerMessage,
  StickyAnswer,
  StickyRequest,
  StickyRules,
} from "../../ports/control-messages.ts";
import type { StickyPage, StickyQuery } from "../../ports/host-admin.ts";
import type { Log } from "../../ports/log.ts";
import { type Route, WAIT } from "../../ports/placement.ts";
import type { HostInstruments } from "../host/metrics.ts";
import type { HostTables } from "../model/host-tables.ts";
import { type Claims, StickyHoldings } from "../model/sticky-holdings.ts";

export interface StickySettings {
  readonly address: string;
  readonly name: string;
  readonly moveTimeoutMs: number;
}

export interface StickyClientDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly catalog: ActorHost;
  readonly instruments: HostInstruments;
  /** The actor's address is known, or the reason why it cannot be called: waiting calls continue. */
  answered(type: string, id: string, error?: LimpetError): void;
  /** This host wants actors of the type. */
  wants(type: string): boolean;
}

/** Messages of the leader about sticky actors. */
export type StickyMessage = Extract<SchedulerMessage, { kind: "acquired" | "acknowledged" | "granted" | "release" }>;

/** Chunks of claims in flight at a time. */
const WINDOW = 4;
/** Maximum number of actors searched for one that can be released. */
const SEARCH = 64;
/**
 * Reasons for leaving memory after which the host releases the actor: another host may succeed with it.
 * Otherwise the actor comes back here with its next call.
 */
const FOR_GOOD = new Set(["explicit", "moved", "failed"]);

export class StickyClient implements HostFeature<StickyMessage> {
  readonly #settings: StickySettings;
  readonly #deps: StickyClientDeps;
  readonly #tables: HostTables;
  readonly #holdings: StickyHoldings;
  #stream: ControlStream<HostMessage> | undefined;
  /** Claims still to be sent on this stream. */
  #claims: Generator<Claims> | undefined;
  #lastPart = 0;
  #unacknowledged = 0;
  #requests: StickyRequest[] = [];
  readonly #released = new Map<string, string[]>();
  /** Actors that are leaving to make room for others. */
  readonly #dismissed = new Map<string, Set<string>>();
  #flushing = false;

  constructor(settings: StickySettings, tables: HostTables, deps: StickyClientDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#tables = tables;
    this.#holdings = new StickyHoldings(settings.address, tables);
  }

  get holdings(): StickyHoldings {
    return this.#holdings;
  }

  /** Rules of all its types, including types that it is about to hand over. */
  rules(): StickyRules {
    const rules = new Map<string, ResolvedSticky["lost"]>();
    for (const { name, options } of this.#deps.catalog.types.values()) {
      if (options.sticky !== undefined) rules.set(name, options.sticky.lost);
    }
    return rules;
  }

  // ——— Routing.

  route(type: string, id: string, until: number): Route {
    const route = this.#holdings.route(type, id);
    if (route !== WAIT) return route;
    const { clock, wants } = this.#deps;
    // A host that hands the type over requests nothing: the next table routes the call elsewhere.
    if (!wants(type)) return WAIT;
    // The call has timed out. A grant that no call wants would only cause another request.
    if (until <= clock.monotonic()) return WAIT;
    const isFree = this.#stream === undefined || this.#claims !== undefined;
    const request = this.#holdings.ask(type, id, until, clock.monotonic(), clock.now(), isFree);
    if (request !== undefined) {
      this.#requests.push(request);
      this.#flushSoon();
    }
    return WAIT;
  }

  /**
   * Releases one actor when the limit of the type is reached, to make room for another. Throws if none can
   * go.
   */
  #makeRoom(type: ActorTypeInfo, { limit, full }: ResolvedSticky): void {
    const dismissed = this.#dismissedOf(type);
    if (this.#holdings.held(type.name) - dismissed.size < limit) return;
    const what = `this host holds ${limit} actors of ${type.name}, which is the limit`;
    if (full === "refuse") throw new LimpetError("HOST_FULL", what);
    if (this.#holdings.held(type.name) > type.activations.size && this.#letGoOfAbsent(type)) return;
    let oldest: ActiveActor | undefined = type.useOrder.oldest;
    for (let i = 0; i < SEARCH && oldest !== undefined; i++, oldest = oldest.newer) {
      if (!oldest.idle || !this.#holdings.holds(type.name, oldest.id)) continue;
      dismissed.add(oldest.id);
      oldest.deactivate("memory");
      return;
    }
    throw new LimpetError("HOST_FULL", `${what}, and all of them are busy`);
  }

  /** Actors that are leaving. An actor that was called meanwhile has stayed. */
  #dismissedOf({ name, activations }: ActorTypeInfo): Set<string> {
    const dismissed = this.#dismissed.get(name) ?? new Set();
    this.#dismissed.set(name, dismissed);
    for (const id of dismissed) if (activations.get(id)?.phase !== "deactivating") dismissed.delete(id);
    return dismissed;
  }

  /** Releases an actor that is held but not in memory: it is the least used of all. */
  #letGoOfAbsent(type: ActorTypeInfo): boolean {
    let looked = 0;
    for (const id of this.#holdings.heldOf(type.name)) {
      if (!type.activations.has(id)) {
        this.#letGo(type.name, id);
        return true;
      }
      if (++looked === SEARCH) break;
    }
    return false;
  }

  // ——— Letting go.

  /**
   * An actor has left memory. The reason is irrelevant if it was dismissed, or if this host no longer hosts
   * its type.
   */
  left(type: string, id: string, reason: string | undefined): void {
    const isDismissed = this.#dismissed.get(type)?.delete(id) === true;
    const isForGood = reason !== undefined && FOR_GOOD.has(reason);
    if (isDismissed || isForGood || this.#tables.hostAt(type, this.#settings.address) === undefined) {
      this.#letGo(type, id);
    }
  }

  #letGo(type: string, id: string): void {
    if (this.#holdings.letGo(type, id)) this.#reportReleased(type, id);
  }

  #reportReleased(type: string, id: string): void {
    this.#deps.instruments.stickyReleased(type);
    if (this.#stream === undefined) return;
    const ids = this.#released.get(type);
    if (ids === undefined) this.#released.set(type, [id]);
    else ids.push(id);
    this.#flushSoon();
  }

  /** Releases all actors of a type that are not in memory; resident ones follow one by one. */
  letGoOfAll(type: string): void {
    const resident = this.#deps.catalog.types.get(type)?.activations;
    for (const id of [...this.#holdings.heldOf(type)]) if (!resident?.has(id)) this.#letGo(type, id);
  }

  /** Releases everything. `isLost`: because the lease is lost. */
  clear(isLost: boolean): void {
    const held = this.#holdings.clear();
    if (held > 0 && isLost) this.#deps.instruments.stickyCleared(held);
    this.#dismissed.clear();
    this.disconnected();
  }

  // ——— The stream.

  /** The leader has sent welcome. */
  joined(stream: ControlStream<HostMessage>): void {
    this.disconnected();
    this.#stream = stream;
    this.#claims = this.#holdings.claims();
    this.#lastPart = 0;
    this.#unacknowledged = 0;
    this.#claimMore();
  }

  disconnected(): void {
    this.#stream = undefined;
    this.#claims = undefined;
    this.#requests = [];
    this.#released.clear();
  }

  #claimMore(): void {
    while (this.#claims !== undefined && this.#unacknowledged < WINDOW) {
      const next = this.#claims.next();
      if (next.done) {
        this.#claims = undefined;
        this.#stream!.send({ kind: "claimed" });
        this.#requests = this.#holdings.unanswered(this.#deps.clock.monotonic());
        this.flush();
        return;
      }
      this.#unacknowledged++;
      this.#stream!.send({ kind: "claims", part: ++this.#lastPart, ...next.value });
    }
  }

  #flushSoon(): void {
    if (this.#flushing || this.#stream === undefined) return;
    this.#flushing = true;
    this.#deps.clock.soon(() => {
      this.#flushing = false;
      this.flush();
    });
  }

  /** Releases go out before requests: both may name the same actor. */
  flush(): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    for (const [type, ids] of this.#released) {
      for (const part of parts(ids)) stream.send({ kind: "released", type, ids: part });
    }
    this.#released.clear();
    if (this.#claims !== undefined || this.#requests.length === 0) return;
    const requests = this.#requests;
    this.#requests = [];
    for (const part of parts(requests)) stream.send({ kind: "acquire", requests: part });
  }

  // ——— Messages of the leader.

  message(message: StickyMessage): void {
    switch (message.kind) {
      case "acquired":
        for (const answer of message.answers) this.#answered(answer);
        break;
      case "acknowledged":
        this.#unacknowledged--;
        this.#claimMore();
        break;
      case "granted":
        for (const id of message.ids) this.#inherited(message.type, id);
        break;
      case "release":
        this.#release(message.type, new Set(message.ids));
        break;
    }
  }

  #answered(answer: StickyAnswer): void {
    const { clock, answered, wants } = this.#deps;
    const question = this.#holdings.answered(answer.correlation, clock.monotonic());
    if (question === undefined) return;
    const { type, id, isWanted } = question;
    if (answer.kind === "granted") this.#granted(type, id, isWanted);
    else if (!wants(type)) return;
    else if (answer.kind === "refused")
      answered(type, id, new LimpetError(answer.code, `${type}/${id}: ${answer.why}`));
    // If no table here lists the owner yet, the next one will; then the calls retry.
    else if (this.#holdings.remember(type, id, answer.host)) answered(type, id);
  }

  #granted(type: string, id: string, isWanted: boolean): void {
    const { answered } = this.#deps;
    let error: LimpetError | undefined;
    // It may have been granted without a request before: a late answer does not release a held actor.
    if (!this.#holdings.holds(type, id)) error = this.#take(type, id, isWanted);
    answered(type, id, error);
  }

  /** Returns the reason if the host cannot take the actor after all. */
  #take(type: string, id: string, isWanted: boolean): LimpetError | undefined {
    const { clock, wants, instruments, catalog } = this.#deps;
    const known = catalog.types.get(type);
    if (!isWanted || !wants(type) || known === undefined) {
      this.#reportReleased(type, id);
      return undefined;
    }
    try {
      if (known.options.sticky !== undefined) this.#makeRoom(known, known.options.sticky);
    } catch (error) {
      this.#reportReleased(type, id);
      return error as LimpetError;
    }
    this.#holdings.hold(type, id, clock.now());
    instruments.stickyGranted(type);
    return undefined;
  }

  /**
   * The leader returns an actor that this host held under its name before. The limit of the type does not
   * apply.
   */
  #inherited(type: string, id: string): void {
    const { clock, wants, instruments, answered } = this.#deps;
    if (wants(type)) {
      this.#holdings.hold(type, id, clock.now());
      instruments.stickyGranted(type);
    } else {
      this.#reportReleased(type, id);
    }
    answered(type, id);
  }

  /** The actors belong to another host, or an operator wants them placed anew. Running turns may end. */
  #release(type: string, ids: ReadonlySet<string>): void {
    const { catalog, log, instruments } = this.#deps;
    log.info("sticky.release-requested", { type, actors: ids.size });
    const known = catalog.types.get(type);
    for (const id of ids) if (!known?.activations.has(id)) this.#letGo(type, id);
    if (known === undefined) return;
    // An actor that is leaving for another reason is released, too.
    const dismissed = this.#dismissedOf(known);
    for (const id of ids) if (known.activations.has(id)) dismissed.add(id);
    void catalog
      .moveAway(known, (id) => !ids.has(id), this.#settings.moveTimeoutMs)
      .then((actors) => {
        if (actors > 0) instruments.drained(type, actors, "released");
      });
  }

  // ——— For display and metrics.

  /** Held actors, in order of type and id. */
  list({ type, id, prefix = "", after, limit }: StickyQuery): StickyPage {
    const { name } = this.#settings;
    const all = this.#holdings
      .list()
      .filter((one) => (type === undefined || one.type === type) && (id === undefined || one.id === id))
      .filter((one) => one.id.startsWith(prefix) && (after === undefined || compareNames(one, after) > 0))
      .sort(compareNames);
    const page = all.slice(0, Math.min(limit, LIMITS.listPage));
    const last = page.at(-1);
    return {
      actors: page.map((one) => ({ ...one, address: this.#settings.address, name, away: false })),
      next: all.length > page.length && last ? { type: last.type, id: last.id } : undefined,
    };
  }

  /** Called when metrics are collected. */
  measure(): void {
    const { instruments, catalog } = this.#deps;
    for (const { name, options } of catalog.types.values()) {
      if (options.sticky !== undefined) instruments.stickyHeld(name, this.#holdings.held(name));
    }
    for (const [type, figures] of this.#holdings.figures) instruments.stickyCache(type, figures);
  }
}

function* parts<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < all.length; i += LIMITS.stickyChunk) yield all.slice(i, i + LIMITS.stickyChunk);
}
