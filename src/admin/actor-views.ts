// Lists the actors of a host, stored or in memory, and explains the current work of one actor.
import type { Catalog } from "../actors/catalog.ts";
import { explain } from "../actors/routing/explain.ts";
import { formatDuration } from "../kernel/durations.ts";
import { LIMITS } from "../kernel/limits.ts";
import { compareNames } from "../kernel/names.ts";
import type { Clock } from "../ports/clock.ts";
import type { ActorPage, ActorSummary, Explanation, ListQuery } from "../ports/host-admin.ts";
import type { Store, StoredActor } from "../ports/store/store.ts";
import type { ClusterAdmin } from "./cluster-admin.ts";

export interface ActorViewsDeps {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly clock: Clock;
  readonly cluster: ClusterAdmin | undefined;
}

export class ActorViews {
  readonly #deps: ActorViewsDeps;

  constructor(deps: ActorViewsDeps) {
    this.#deps = deps;
  }

  async list(query: ListQuery): Promise<ActorPage> {
    const limit = Math.min(query.limit, LIMITS.listPage);
    const actors = query.active ? this.#listActive(query, limit + 1) : await this.#listStored(query, limit + 1);
    const page = actors.slice(0, limit);
    const last = page.at(-1);
    return { actors: page, next: actors.length > limit && last ? { type: last.type, id: last.id } : undefined };
  }

  async #listStored(query: ListQuery, limit: number): Promise<ActorSummary[]> {
    const { type, prefix, after } = query;
    const { store, catalog } = this.#deps;
    const rows = await store.list({ namespace: catalog.namespace, type, prefix, after, limit });
    return rows.map((row) => this.#summary(row.type, row.id, row));
  }

  /** Activations in the order of stored actors; stateless actors exist only in memory. */
  #listActive({ type, prefix = "", after }: ListQuery, limit: number): ActorSummary[] {
    const page = new FirstFew(limit, compareNames);
    for (const { name, activations } of this.#deps.catalog.types.values()) {
      if (type !== undefined && name !== type) continue;
      for (const id of activations.keys()) {
        const actor = { type: name, id };
        if (id.startsWith(prefix) && (after === undefined || compareNames(actor, after) > 0)) page.add(actor);
      }
    }
    return page.sorted().map((actor) => this.#summary(actor.type, actor.id, undefined));
  }

  #summary(type: string, id: string, row: StoredActor | undefined): ActorSummary {
    const activation = this.#deps.catalog.types.get(type)?.activations.get(id);
    return {
      type,
      id,
      active: activation !== undefined,
      waiting: activation?.waiting ?? 0,
      epoch: row?.epoch ?? activation?.life?.epoch,
      version: row?.version ?? activation?.life?.version,
      bytes: row?.bytes,
    };
  }

  async explain(type: string, id: string): Promise<Explanation> {
    const { catalog, store, clock, cluster } = this.#deps;
    const activation = catalog.calls.target(type).activations.get(id);
    const stored = await store.find({ namespace: catalog.namespace, type, id });
    const explanation = explain(type, id, activation, stored, clock.monotonic(), clock.now());
    if (activation !== undefined) return explanation;
    const restartsInMs = this.#restartsInMs(type, id);
    if (restartsInMs !== undefined) {
      const when = restartsInMs > 0 ? `in ${formatDuration(restartsInMs)}` : "when its turn comes";
      const soon = `it is started again ${when}, or by its next call`;
      return { ...explanation, summary: `${type}/${id} is remembered and has stopped; ${soon}` };
    }
    if (cluster === undefined) return explanation;
    const { owner, here } = await cluster.where(type, id);
    if (owner === undefined || here) return explanation;
    return { ...explanation, summary: `${type}/${id} lives on ${owner}, and that host knows what it does` };
  }

  #restartsInMs(type: string, id: string): number | undefined {
    const { catalog } = this.#deps;
    const known = catalog.types.get(type);
    return known && catalog.features.remembering?.restartsInMs(known, id);
  }
}

/**
 * Keeps the first few of many items, in order, without sorting all of them: an item behind the kept ones
 * costs one comparison.
 */
export class FirstFew<T> {
  readonly #count: number;
  readonly #compare: (a: T, b: T) => number;
  /** At most twice the wanted number. */
  #items: T[] = [];
  /** The last wanted item, as far as it is known: items behind it are not kept. */
  #last: T | undefined;

  constructor(count: number, compare: (a: T, b: T) => number) {
    this.#count = count;
    this.#compare = compare;
  }

  add(item: T): void {
    if (this.#last !== undefined && this.#compare(item, this.#last) >= 0) return;
    this.#items.push(item);
    if (this.#items.length >= 2 * this.#count) this.#cut();
  }

  sorted(): readonly T[] {
    this.#cut();
    return this.#items;
  }

  #cut(): void {
    this.#items = this.#items.sort(this.#compare).slice(0, this.#count);
    if (this.#items.length === this.#count) this.#last = this.#items.at(-1);
  }
}
