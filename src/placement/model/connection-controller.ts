// The hosts of one namespace, as the leader knows them: their streams, their leases, and the types they may
// hold.
//
//   expected ──hello──► member ⇄ suspect ──lease over──► (removed)
//   (unknown) ─hello─► joining ──saved──► member            evicted ──lease over──► (removed)
//
// - expected: an earlier leader recorded it as a member, and it has not connected to this leader yet.
// - joining: it has sent hello. It becomes a member when the record is durable, and before that it may hold
//   nothing.
// - suspect: its stream ended without a goodbye. It may come back with the same incarnation while its lease
//   lasts.
// - evicted: it delayed a round for too long. The leader does not answer its renewals, so its lease ends.
//
// `held` names the types whose actors a host may hold. It is durable before it grows, and it shrinks only
// after a finished round has shown that no actor is left. Hosts without types only receive; no round waits
// for them. Pure.
import { invariant } from "../../kernel/errors.ts";
import type { ShardedRule, ShardedRules } from "../../kernel/sharded-rule.ts";
import type { TableVersion } from "../../kernel/versions.ts";
import { type Hello, NOWHERE, type StickyRules, type TableHost } from "../../ports/control-messages.ts";

export type HostState = "expected" | "joining" | "member" | "suspect" | "evicted";

export interface HostRecord {
  readonly incarnation: string;
  readonly address: string;
  readonly name: string;
  readonly machine: string;
  readonly pid: number;
  state: HostState;
  stream: number | undefined;
  /**
   * The host has its snapshot on this stream. Until then it gets no orders, knows no table and holds nothing.
   */
  isInformed: boolean;
  /** The host never had a snapshot, on any stream, so it certainly holds nothing. */
  isFresh: boolean;
  /** On the leader's monotonic clock. */
  leaseUntil: number;
  types: ReadonlySet<string>;
  /** The host's rules for its sticky types. */
  sticky: StickyRules;
  /** The host's rules for its sharded types. */
  sharded: ShardedRules;
  readonly build: string;
  /** The host confirms that it is the home of shards. */
  readonly confirmsHomes: boolean;
  /** Durably recorded: the host may hold actors of these types. */
  held: ReadonlySet<string>;
  /** Types of the write in progress. */
  persisting: ReadonlySet<string> | undefined;
  unlocked: ReadonlyMap<string, TableVersion>;
  actors: number;
}

/** A member that an earlier leader recorded. */
export interface KnownMember {
  readonly incarnation: string;
  readonly address: string;
  readonly types: readonly string[];
  readonly machine: string;
  readonly pid: number;
}

export type HostAdmission =
  | { readonly kind: "welcome"; readonly host: HostRecord; readonly stale: number | undefined }
  | { readonly kind: "removed"; readonly reason: string }
  | { readonly kind: "refused"; readonly reason: string };

const NO_RULES: StickyRules = new Map();
const UNSHARDED: ShardedRules = new Map();
const NOBODY: ReadonlyMap<string, TableHost> = new Map();

export class ConnectionController {
  readonly #leaseMs: number;
  readonly #hosts = new Map<string, HostRecord>();
  readonly #byStream = new Map<number, HostRecord>();
  readonly #byAddress = new Map<string, HostRecord>();
  /** Hosts that the table of each type may list, and the types for which each host is listed. */
  readonly #eligible = new Map<string, Map<string, TableHost>>();
  readonly #listed = new Map<string, ReadonlySet<string>>();

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  get hosts(): IterableIterator<HostRecord> {
    return this.#hosts.values();
  }

  get size(): number {
    return this.#hosts.size;
  }

  host(incarnation: string): HostRecord | undefined {
    return this.#hosts.get(incarnation);
  }

  of(stream: number): HostRecord | undefined {
    return this.#byStream.get(stream);
  }

  /** Every stream of the namespace that has its snapshot: each gets all orders. */
  streams(): number[] {
    return [...this.#byStream].filter(([, { isInformed }]) => isInformed).map(([stream]) => stream);
  }

  expect(member: KnownMember, leaseUntil: number): void {
    const known = this.#hosts.get(member.incarnation);
    if (known !== undefined) invariant(false, `only an unknown host is expected; ${describeRecord(known)}`);
    const types = new Set(member.types);
    this.#add({
      ...member,
      name: "",
      state: "expected",
      stream: undefined,
      isInformed: false,
      isFresh: false,
      leaseUntil,
      types,
      sticky: NO_RULES,
      sharded: UNSHARDED,
      build: "",
      confirmsHomes: false,
      held: types,
      persisting: undefined,
      unlocked: new Map(),
      actors: 0,
    });
  }

  hello(stream: number, hello: Hello, now: number): HostAdmission {
    const known = this.#hosts.get(hello.incarnation);
    if (known !== undefined) return this.#comeBack(known, stream, hello);
    if (hello.types.length > 0 && hello.unlocked.size > 0) {
      return { kind: "removed", reason: "this incarnation is no member of the cluster (any more)" };
    }
    if (hello.address === NOWHERE && hello.types.length > 0) {
      return { kind: "refused", reason: "a host that has types needs an address" };
    }
    const neighbour = this.#byAddress.get(hello.address);
    if (neighbour !== undefined) {
      const reason = `another host has the address ${hello.address}; this host can join when the lease of that one is over`;
      return { kind: "refused", reason };
    }
    const host: HostRecord = {
      incarnation: hello.incarnation,
      address: hello.address,
      name: hello.name,
      machine: hello.machine,
      pid: hello.pid,
      state: hello.types.length > 0 ? "joining" : "member",
      stream,
      isInformed: false,
      isFresh: true,
      leaseUntil: now + this.#leaseMs,
      types: new Set(hello.types),
      sticky: hello.sticky ?? NO_RULES,
      sharded: hello.sharded ?? UNSHARDED,
      build: hello.build ?? "",
      confirmsHomes: hello.confirmsHomes ?? false,
      held: new Set(),
      persisting: undefined,
      unlocked: hello.unlocked,
      actors: 0,
    };
    this.#add(host);
    this.#byStream.set(stream, host);
    return { kind: "welcome", host, stale: undefined };
  }

  #comeBack(known: HostRecord, stream: number, hello: Hello): HostAdmission {
    if (known.state === "evicted") return { kind: "removed", reason: "it did not follow an order in time" };
    if (known.address !== hello.address) return { kind: "refused", reason: "a host cannot change its address" };
    const stale = known.stream;
    if (stale !== undefined) this.#byStream.delete(stale);
    // The hello replaces the data that an earlier leader had about the host.
    const host: HostRecord = {
      ...known,
      name: hello.name,
      unlocked: hello.unlocked,
      types: new Set(hello.types),
      sticky: hello.sticky ?? NO_RULES,
      sharded: hello.sharded ?? UNSHARDED,
      build: hello.build ?? "",
      confirmsHomes: hello.confirmsHomes ?? false,
      stream,
      isInformed: false,
    };
    host.state = known.state === "joining" ? "joining" : "member";
    this.#add(host);
    this.#byStream.set(stream, host);
    return { kind: "welcome", host, stale };
  }

  #add(host: HostRecord): void {
    this.#hosts.set(host.incarnation, host);
    if (host.address !== NOWHERE) this.#byAddress.set(host.address, host);
    this.refresh(host);
  }

  /** Must be called after every change of a host's state, its types or `held`. */
  refresh(host: HostRecord): void {
    const { incarnation, address, name, types, held } = host;
    const counts = this.#hosts.get(incarnation) === host && (host.state === "member" || host.state === "suspect");
    const listed = new Set(counts ? [...types].filter((type) => held.has(type)) : []);
    for (const type of this.#listed.get(incarnation) ?? [])
      if (!listed.has(type)) this.#eligible.get(type)?.delete(incarnation);
    for (const type of listed) {
      const hosts = this.#eligible.get(type) ?? new Map<string, TableHost>();
      hosts.set(incarnation, { incarnation, address, name });
      this.#eligible.set(type, hosts);
    }
    if (listed.size > 0) this.#listed.set(incarnation, listed);
    else this.#listed.delete(incarnation);
  }

  /** Returns false if the leader must not answer the renewal. */
  renew(host: HostRecord, actors: number, now: number): boolean {
    this.#requireKnown(host, "only the lease of a known host is renewed");
    if (host.state === "evicted") return false;
    host.leaseUntil = now + this.#leaseMs;
    host.actors = actors;
    return true;
  }

  /** The stream has ended without a goodbye. */
  closed(stream: number): HostRecord | undefined {
    const host = this.#byStream.get(stream);
    this.#byStream.delete(stream);
    if (host === undefined || host.stream !== stream) return undefined;
    host.stream = undefined;
    if (host.state === "member" || host.state === "joining") host.state = "suspect";
    this.refresh(host);
    return host;
  }

  evict(host: HostRecord): void {
    this.#requireKnown(host, "only a known host is evicted");
    if (host.state === "evicted") invariant(false, `a host is evicted once; ${describeRecord(host)}`);
    host.state = "evicted";
    if (host.stream !== undefined) this.#byStream.delete(host.stream);
    host.stream = undefined;
    this.refresh(host);
  }

  remove(host: HostRecord): void {
    this.#requireKnown(host, "only a known host is removed");
    this.#hosts.delete(host.incarnation);
    this.refresh(host);
    if (host.stream !== undefined) this.#byStream.delete(host.stream);
    if (this.#byAddress.get(host.address) === host) this.#byAddress.delete(host.address);
  }

  /** A host that came back has a new record, and the old one must not change any more. */
  #requireKnown(host: HostRecord, rule: string): void {
    if (this.#hosts.get(host.incarnation) !== host) invariant(false, `${rule}; ${describeRecord(host)}`);
  }

  /** Hosts whose lease is over at this moment. */
  expired(now: number): HostRecord[] {
    return [...this.#hosts.values()].filter((host) => now >= host.leaseUntil);
  }

  get deadline(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { leaseUntil } of this.#hosts.values()) if (leaseUntil < first) first = leaseUntil;
    return first;
  }

  /**
   * Hosts that the table of a type may list: they reported the type, and the record is durable. A silent host
   * stays until its lease is over. The returned map is live.
   */
  eligible(type: string): ReadonlyMap<string, TableHost> {
    return this.#eligible.get(type) ?? NOBODY;
  }

  /**
   * Reports whether all hosts that may hold actors of a type are known. A host that has not connected to this
   * leader yet makes it false.
   */
  isKnown(type: string): boolean {
    for (const { state, held } of this.#hosts.values()) if (state === "expected" && held.has(type)) return false;
    return !this.isAwaited(type);
  }

  /**
   * The only hosts of a type wait for their record: a table without them would claim that the type has no
   * host.
   */
  isAwaited(type: string): boolean {
    if (this.eligible(type).size > 0) return false;
    for (const { state, types } of this.#hosts.values()) if (state !== "evicted" && types.has(type)) return true;
    return false;
  }

  /** The rule of a type as its hosts report it; they agreed when they joined. */
  shardedRule(type: string): ShardedRule | undefined {
    for (const { sharded } of this.#hosts.values()) if (sharded.has(type)) return sharded.get(type);
    return undefined;
  }

  /** Hosts with that address, name or incarnation. */
  named(which: string): HostRecord[] {
    return [...this.#hosts.values()].filter(
      ({ address, name, incarnation }) => which === address || which === name || which === incarnation,
    );
  }

  /** Hosts that may hold actors of a type. */
  holdersOf(type: string): HostRecord[] {
    return [...this.#hosts.values()].filter(({ held }) => held.has(type));
  }
}

/** The state in short, for errors. */
export function describeRecord({ incarnation, state, stream, types, held, persisting }: HostRecord): string {
  const list = (names: Iterable<string> | undefined): string => (names === undefined ? "-" : `[${[...names]}]`);
  return `host ${incarnation}: ${state}, stream ${stream ?? "-"}, types ${list(types)}, held ${list(held)}, saving ${list(persisting)}`;
}
