// Actors that ran in a shard when it was moved are brought to life at its new home right away, so that their next calls need not wait for the
// store. Their former home sends their ids along when it has stopped them, to where the shard is likely to live next. While that is noted the
// new home takes them in the store (taken-ahead.ts), and starts them when it hears that it is the home. If it is not known in time where the
// shard will live, or if it comes otherwise, they follow when it is, and are taken then, a few at a time.
//
// It is a help and nothing more: whoever is called sooner comes to life by that call, what is lost on the way comes to life when it is
// called, and only the home of a shard starts anybody. State does not travel: an actor has to be taken in the store in any case, or its
// former life could still commit, and that step brings the state along. Everything is limited in number, bytes and time.
import type { Activation } from "../../actors/activation/activation.ts";
import type { ActorType } from "../../actors/actor-type.ts";
import type { Catalog } from "../../actors/catalog.ts";
import { checkId } from "../../kernel/names.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Links, RemoteAnswer, RemoteCall, RemoteCaller } from "../../ports/links.ts";
import { PrefetchedActors } from "./prefetched-actors.ts";

export interface PrewarmDeps {
  readonly clock: Clock;
  readonly catalog: Catalog;
  readonly links: Links;
  standing(type: string, shard: number): "here" | "wait" | "elsewhere";
  /** It may become the home of the shard by this move, and nobody runs its actors until it is clear. */
  expects(type: string, shard: number, move: string): boolean;
}

/** What is sent looks like a call, to nobody. Whoever makes one like it brings actors to life, and nothing else. */
const NOBODY = "$shard";
const METHOD = "$companions";
/** Those that were used lately are likely to be used soon. */
const LATELY_MS = 30_000;
const MOST = 1_000;
const MOST_BYTES = 128 * 1024;
/** How long it is waited for the word where a shard lives. Who has not been started by then is started by its next call. */
const KEEP_MS = 5_000;
/** Calls that wake actors must not have to wait for many others. */
const AT_ONCE = 50;
/** Of one shard, those that were used last. They are taken in one step and started in one go. */
const AHEAD = 256;
/** Those that wait to be started on one host. */
const LONGEST_LINE = 20_000;

export class Prewarm {
  readonly #deps: PrewarmDeps;
  /** By shard: who left with it, until it is known where it lives; and who came, until this host is its home. */
  readonly #left = new Map<string, readonly string[]>();
  readonly #came = new Map<string, readonly string[]>();
  /** Where those were sent that are still among the ones that left. */
  readonly #sent = new WeakMap<readonly string[], string>();
  readonly #ahead: PrefetchedActors;
  readonly #line = new Line();
  #starting = 0;

  constructor(deps: PrewarmDeps) {
    this.#deps = deps;
    const { clock, catalog } = deps;
    this.#ahead = new PrefetchedActors({ clock, take: (type, id) => catalog.takeAhead(type, id) });
    catalog.takenAhead = this.#ahead;
  }

  // ——— At the former home.

  /** These are about to be stopped. Remembered ones are brought to life anyway. */
  leaving({ name, isRemembered }: ActorType, shard: number, actors: readonly Activation[]): void {
    if (isRemembered) return;
    const since = this.#deps.clock.monotonic() - LATELY_MS;
    const used = actors.filter(({ phase, lastUsed }) => phase === "active" && lastUsed > since);
    used.sort((a, b) => b.lastUsed - a.lastUsed);
    this.#keep(this.#left, name, shard, fewEnough(used));
  }

  /** They are stopped, and the shard is likely to live there next. */
  left(type: string, shard: number, move: string, address: string): void {
    const ids = this.#left.get(keyOf(type, shard));
    if (ids === undefined) return;
    this.#sent.set(ids, address);
    this.#send(address, type, [shard, ids, move]);
  }

  /** The shard lives there now. */
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
        id: NOBODY,
        method: METHOD,
        args,
        timeoutMs: KEEP_MS,
        hops: 0,
        passOn: false,
        causes: [],
      },
      UNHEARD,
    );
  }

  // ——— At the new one.

  /** False: it is somebody else's call. */
  serve({ namespace, type, id, method, args }: RemoteCall, answer: RemoteAnswer): boolean {
    if (id !== NOBODY || method !== METHOD) return false;
    const [shard, ids, move] = args;
    if (namespace === this.#deps.catalog.namespace && isShard(shard) && isList(ids)) {
      this.#keep(this.#came, type, shard, ids);
      if (typeof move === "string") this.#takeAhead(type, shard, move, ids);
      this.gained(type, shard, undefined);
    }
    answer.value(undefined);
    return true;
  }

  #takeAhead(type: string, shard: number, move: string, ids: readonly string[]): void {
    const { catalog, expects } = this.#deps;
    const known = catalog.types.get(type);
    if (known?.stateful !== true || !expects(type, shard, move)) return;
    const some = ids.slice(0, AHEAD).filter((id) => belongs(known, shard, id) && !known.activations.has(id));
    this.#ahead.begin(type, shard, move, some);
  }

  /** This host may have become its home. */
  gained(type: string, shard: number, move: string | undefined): void {
    const { catalog, standing } = this.#deps;
    const ids = this.#came.get(keyOf(type, shard));
    const known = catalog.types.get(type);
    if (ids === undefined || known === undefined || standing(type, shard) !== "here") return;
    this.#came.delete(keyOf(type, shard));
    const ahead = new Set(this.#ahead.open(type, shard, move));
    for (const id of ahead) void catalog.start(known, id, false).catch(UNNOTICED);
    for (const id of ids) if (!ahead.has(id)) this.#line.push({ type: known, shard, id });
    this.#work();
  }

  #work(): void {
    const { catalog, standing } = this.#deps;
    while (this.#starting < AT_ONCE) {
      const next = this.#line.shift();
      if (next === undefined) return;
      const { type, shard, id } = next;
      if (standing(type.name, shard) !== "here" || !belongs(type, shard, id)) continue;
      this.#starting++;
      void catalog.start(type, id, false).catch(UNNOTICED).then(this.#started);
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
  readonly type: ActorType;
  readonly shard: number;
  readonly id: string;
}

/** Those that wait to be started, of which there may be very many: the first one is taken out without moving the rest. */
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

/** Ids of the first ones. */
function fewEnough(actors: readonly Activation[]): string[] {
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

/** What another host says is looked at before anybody comes to life by it. */
function belongs({ options }: ActorType, shard: number, id: string): boolean {
  try {
    checkId(id);
    return options.sharded?.shardOf(id) === shard;
  } catch {
    return false;
  }
}

/** Whoever cannot be started now is started by its next call, whose caller hears why if it cannot. */
const UNNOTICED = (): void => {};

/** Whatever becomes of it, nobody waits for it. */
const UNHEARD: RemoteCaller = { value() {}, error() {}, notOwner() {}, unsent() {}, lost() {} };
