// Activates the actors of a moved shard at its new home right away, so that their next calls need not wait
// for the store. The former home sends their ids when it has stopped them, to the probable next home. While
// the leader persists the move, the new home takes them in the store (prefetched-actors.ts). It starts them
// when it becomes the home. If the next home is not known in time, or is another one, the ids follow later,
// and the new home takes them then, a few at a time.
//
// This is only an optimization. An earlier call activates its actor by itself, and an id that is lost is
// activated by its next call. Only the home of a shard starts actors. State does not travel with the ids: an
// actor has to be taken in the store in any case, or its former activation could still commit, and that step
// returns the state. Number, bytes and time are limited.
import { checkId } from "../../kernel/names.ts";
import type { ActiveActor, ActorHost, ActorTypeInfo } from "../../ports/actor-host.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Links, RemoteAnswer, RemoteCall, RemoteCaller } from "../../ports/links.ts";
import { PrefetchedActors } from "./prefetched-actors.ts";

export interface PrewarmDeps {
  readonly clock: Clock;
  readonly catalog: ActorHost;
  readonly links: Links;
  activation(type: string, shard: number): "here" | "wait" | "elsewhere";
  /** The host may become the home of the shard by this move, and no host runs its actors until then. */
  expects(type: string, shard: number, move: string): boolean;
}

/** The message has the form of a call to a reserved id. A forged one can only activate actors. */
const SHARD_ID = "$shard";
const METHOD = "$companions";
/** Actors used within this time are likely to be used soon. */
const LATELY_MS = 30_000;
const MOST = 1_000;
const MOST_BYTES = 128 * 1024;
/** Limit for the wait until the home of a shard is known. After it, actors are started by their next call. */
const KEEP_MS = 5_000;
/** Calls that activate actors must not wait for many prewarmed ones. */
const AT_ONCE = 50;
/** The most recently used actors of one shard. They are taken in one step and started together. */
const MOST_PREFETCHED = 256;
/** Maximum number of actors that wait to be started on one host. */
const LONGEST_LINE = 20_000;

export class Prewarm {
  readonly #deps: PrewarmDeps;
  /**
   * By shard: actors that left with it, until its home is known; and actors that came, until this host is its
   * home.
   */
  readonly #left = new Map<string, readonly string[]>();
  readonly #came = new Map<string, readonly string[]>();
  /** Address to which the ids of an entry of `#left` were sent. */
  readonly #sent = new WeakMap<readonly string[], string>();
  readonly #prefetched: PrefetchedActors;
  readonly #line = new Line();
  #starting = 0;

  constructor(deps: PrewarmDeps) {
    this.#deps = deps;
    const { clock, catalog } = deps;
    this.#prefetched = new PrefetchedActors({ clock, take: (type, id) => catalog.prefetch(type, id) });
    catalog.usePrefetched(this.#prefetched);
  }

  // ——— At the former home.

  /** These actors are about to be stopped. Remembered ones start at the new home anyway. */
  leaving({ name, isRemembered }: ActorTypeInfo, shard: number, actors: readonly ActiveActor[]): void {
    if (isRemembered) return;
    const since = this.#deps.clock.monotonic() - LATELY_MS;
    const used = actors.filter(({ phase, lastUsed }) => phase === "active" && lastUsed > since);
    used.sort((a, b) => b.lastUsed - a.lastUsed);
    this.#keep(this.#left, name, shard, fewEnough(used));
  }

  /** The actors have stopped, and the shard probably lives at that address next. */
  left(type: string, shard: number, move: string, address: string): void {
    const ids = this.#left.get(keyOf(type, shard));
    if (ids === undefined) return;
    this.#sent.set(ids, address);
    this.#send(address, type, [shard, ids, move]);
  }

  /** The shard lives at that address now. */
  moved(type: string, shard: number, address: string): void {
    const ids = this.#left.get(keyOf(type, shard));
    this.#left.delete(keyOf(type, shard));
    if (ids !== undefined && this.#sent.get(ids) !== address) this.#send(address, type, [shard, ids]);
  }

  #send(address: string, type: string, args: unknown[]): void {
    const { catalog, links } = this.#deps;
    links.call(
      address,
      {
        namespace: catalog.namespace,
        type,
        id: SHARD_ID,
        method: METHOD,
        args,
        timeoutMs: KEEP_MS,
        hops: 0,
        passOn: false,
        causes: [],
      },
      NO_CALLER,
    );
  }

  // ——— At the new home.

  /** Returns false for any other call. */
  serve({ namespace, type, id, method, args }: RemoteCall, answer: RemoteAnswer): boolean {
    if (id !== SHARD_ID || method !== METHOD) return false;
    const [shard, ids, move] = args;
    if (namespace === this.#deps.catalog.namespace && isShard(shard) && isList(ids)) {
      this.#keep(this.#came, type, shard, ids);
      if (typeof move === "string") this.#prefetch(type, shard, move, ids);
      this.gained(type, shard, undefined);
    }
    answer.value(undefined);
    return true;
  }

  #prefetch(type: string, shard: number, move: string, ids: readonly string[]): void {
    const { catalog, expects } = this.#deps;
    const known = catalog.types.get(type);
    if (known?.stateful !== true || !expects(type, shard, move)) return;
    const some = ids.slice(0, MOST_PREFETCHED).filter((id) => belongs(known, shard, id) && !known.activations.has(id));
    this.#prefetched.begin(type, shard, move, some);
  }

  /** This host may have become the shard's home. */
  gained(type: string, shard: number, move: string | undefined): void {
    const { catalog, activation } = this.#deps;
    const ids = this.#came.get(keyOf(type, shard));
    const known = catalog.types.get(type);
    if (ids === undefined || known === undefined || activation(type, shard) !== "here") return;
    this.#came.delete(keyOf(type, shard));
    const prefetched = new Set(this.#prefetched.open(type, shard, move));
    for (const id of prefetched) void catalog.start(known, id, false).catch(IGNORED);
    for (const id of ids) if (!prefetched.has(id)) this.#line.push({ type: known, shard, id });
    this.#work();
  }

  #work(): void {
    const { catalog, activation } = this.#deps;
    while (this.#starting < AT_ONCE) {
      const next = this.#line.shift();
      if (next === undefined) return;
      const { type, shard, id } = next;
      if (activation(type.name, shard) !== "here" || !belongs(type, shard, id)) continue;
      this.#starting++;
      void catalog.start(type, id, false).catch(IGNORED).then(this.#started);
    }
  }

  readonly #started = (): void => {
    this.#starting--;
    this.#work();
  };

  #keep(where: Map<string, readonly string[]>, type: string, shard: number, ids: readonly string[]): void {
    if (ids.length === 0) return;
    const key = keyOf(type, shard);
    where.set(key, ids);
    this.#deps.clock.after(KEEP_MS, () => where.get(key) === ids && where.delete(key), "background");
  }
}

interface Waiting {
  readonly type: ActorTypeInfo;
  readonly shard: number;
  readonly id: string;
}

/** Queue of actors to start, of which there may be very many: `shift` does not move the rest. */
class Line {
  #all: Waiting[] = [];
  #first = 0;

  push(one: Waiting): void {
    if (this.#all.length - this.#first < LONGEST_LINE) this.#all.push(one);
  }

  shift(): Waiting | undefined {
    if (this.#first === this.#all.length) return undefined;
    const one = this.#all[this.#first++];
    if (this.#first === this.#all.length || this.#first > LONGEST_LINE) {
      this.#all = this.#all.slice(this.#first);
      this.#first = 0;
    }
    return one;
  }
}

/** Ids of the first actors, within the limits. */
function fewEnough(actors: readonly ActiveActor[]): string[] {
  const ids: string[] = [];
  let bytes = 0;
  for (const { id } of actors) {
    bytes += 3 * id.length;
    if (ids.length === MOST || bytes > MOST_BYTES) break;
    ids.push(id);
  }
  return ids;
}

const keyOf = (type: string, shard: number): string => `${shard} ${type}`;

const isShard = (value: unknown): value is number => Number.isSafeInteger(value);
const isList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length <= MOST && value.every((id) => typeof id === "string");

/** Checks an id from another host before it is activated. */
function belongs({ options }: ActorTypeInfo, shard: number, id: string): boolean {
  try {
    checkId(id);
    return options.sharded?.shardOf(id) === shard;
  } catch {
    return false;
  }
}

/** An actor that cannot be started now is started by its next call, which reports the error. */
const IGNORED = (): void => {};

/** The sender needs no answer. */
const NO_CALLER: RemoteCaller = { value() {}, error() {}, notOwner() {}, unsent() {}, lost() {} };
