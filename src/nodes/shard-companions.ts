// Actors that ran in a shard when it was moved are brought to life at its new home right away, so that their next calls need not wait for the
// store. Their former home sends their ids along when it hears where the shard lives now; the new home starts them, a few at a time.
//
// It is a help and nothing more: whoever is called sooner comes to life by that call, what is lost on the way comes to life when it is
// called, and only the home of a shard starts anybody. State does not travel: an actor has to be taken in the store in any case, or its
// former life could still commit, and that step brings the state along. Everything is limited in number, bytes and time.
import type { Activation } from "../actors/activation.ts";
import type { ActorType } from "../actors/actor-type.ts";
import type { Catalog } from "../actors/catalog.ts";
import { checkId } from "../kernel/names.ts";
import type { Clock } from "../ports/clock.ts";
import type { Links, RemoteAnswer, RemoteCall, RemoteCaller } from "../ports/links.ts";

export interface CompanionWorld {
  readonly clock: Clock;
  readonly catalog: Catalog;
  readonly links: Links;
  standing(type: string, shard: number): "here" | "wait" | "elsewhere";
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
/** Those that wait to be started on one host. */
const LONGEST_LINE = 20_000;

export class ShardCompanions {
  readonly #world: CompanionWorld;
  /** By shard: who left with it, until it is known where it lives; and who came, until this host is its home. */
  readonly #left = new Map<string, readonly string[]>();
  readonly #came = new Map<string, readonly string[]>();
  #line: { readonly type: ActorType; readonly shard: number; readonly id: string }[] = [];
  #starting = 0;

  constructor(world: CompanionWorld) {
    this.#world = world;
  }

  // ——— At the former home.

  /** These are about to be stopped. Remembered ones are brought to life anyway. */
  leaving({ name, isRemembered }: ActorType, shard: number, actors: readonly Activation[]): void {
    if (isRemembered) return;
    const since = this.#world.clock.monotonic() - LATELY_MS;
    const used = actors.filter(({ phase, lastUsed }) => phase === "active" && lastUsed > since);
    used.sort((a, b) => b.lastUsed - a.lastUsed);
    this.#keep(this.#left, name, shard, fewEnough(used));
  }

  /** The shard lives there now. */
  moved(type: string, shard: number, address: string): void {
    const ids = this.#left.get(keyOf(type, shard));
    this.#left.delete(keyOf(type, shard));
    if (ids === undefined) return;
    const { catalog, links } = this.#world;
    links.call(
      address,
      {
        ...{ namespace: catalog.namespace, type, id: NOBODY, method: METHOD, args: [shard, ids] },
        ...{ timeoutMs: KEEP_MS, hops: 0, passOn: false, causes: [] },
      },
      UNHEARD,
    );
  }

  // ——— At the new one.

  /** False: it is somebody else's call. */
  serve({ namespace, type, id, method, args }: RemoteCall, answer: RemoteAnswer): boolean {
    if (id !== NOBODY || method !== METHOD) return false;
    const [shard, ids] = args;
    if (namespace === this.#world.catalog.namespace && isShard(shard) && isList(ids)) {
      this.#keep(this.#came, type, shard, ids);
      this.gained(type, shard);
    }
    answer.value(undefined);
    return true;
  }

  /** This host may have become its home. */
  gained(type: string, shard: number): void {
    const ids = this.#came.get(keyOf(type, shard));
    const known = this.#world.catalog.types.get(type);
    if (ids === undefined || known === undefined || this.#world.standing(type, shard) !== "here") return;
    this.#came.delete(keyOf(type, shard));
    const room = Math.max(LONGEST_LINE - this.#line.length, 0);
    for (const id of ids.slice(0, room)) this.#line.push({ type: known, shard, id });
    this.#work();
  }

  #work(): void {
    const { catalog, standing } = this.#world;
    while (this.#starting < AT_ONCE) {
      const next = this.#line.shift();
      if (next === undefined) return;
      const { type, shard, id } = next;
      if (standing(type.name, shard) !== "here" || !belongs(type, shard, id)) continue;
      this.#starting++;
      // Whoever cannot be started now is started by its next call, whose caller hears why if it cannot.
      void catalog.start(type, id, false).then(this.#started, this.#started);
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
    this.#world.clock.after(KEEP_MS, () => where.get(key) === ids && where.delete(key), "background");
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

/** Whatever becomes of it, nobody waits for it. */
const UNHEARD: RemoteCaller = { value() {}, error() {}, notOwner() {}, unsent() {}, lost() {} };
