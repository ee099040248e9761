// Sends the takes and commits of actors to the store, many in one batch, with retries while the store does
// not respond. Repeated takes and commits are safe (ports/store/store.ts).
import { type BatchCaller, FencedBatcher } from "../kernel/batch/fenced-batcher.ts";
import { LimpetError } from "../kernel/errors.ts";
import type { PrefetchedTakes } from "../ports/actor-host.ts";
import type { Clock } from "../ports/clock.ts";
import { batchInstruments, type Meter } from "../ports/meter.ts";
import type { Random } from "../ports/random.ts";
import type { Commit, CommitOutcome, StateWrite, Store, Taken, TakeRequest } from "../ports/store/store.ts";

export interface StoreGatewayDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly meter: Meter;
  readonly store: Store;
}

/** Reminders and workflows that are written, or settled, in the same commit. */
export type CommitExtras = Pick<Commit, "settle" | "reminders" | "starts" | "messages">;

export class StoreGateway {
  readonly #namespace: string;
  /** Owner of the taken actors, and prefix of the commit ids. */
  readonly #incarnation: string;
  readonly #takes: FencedBatcher<TakeRequest, Taken>;
  readonly #commits: FencedBatcher<Commit, CommitOutcome>;
  #prefetched: PrefetchedTakes | undefined;
  #commitCount = 0;

  constructor(namespace: string, incarnation: string, patienceMs: number, deps: StoreGatewayDeps) {
    const { clock, random, meter, store } = deps;
    this.#namespace = namespace;
    this.#incarnation = incarnation;
    const shared = { clock, random, lanes: store.lanes, eager: store.eager, patienceMs };
    this.#takes = new FencedBatcher({
      ...shared,
      ...batchInstruments(meter, "take"),
      // A repeated take only raises an epoch.
      isHarmless: true,
      weigh: () => 1,
      keyOf: ({ type, id }) => `${type.length}:${type}${id}`,
      send: (batch) => store.take(batch),
    });
    this.#commits = new FencedBatcher({
      ...shared,
      ...batchInstruments(meter, "commit"),
      weigh: weightOf,
      keyOf: ({ ref }) => ref,
      send: (batch) => store.commit(batch),
      // An unanswered attempt may have been applied before another host took the actor and committed.
      resolveAmbiguous: (outcome) => (outcome === "fenced" ? takenOver() : outcome),
    });
  }

  usePrefetched(source: PrefetchedTakes): void {
    this.#prefetched = source;
  }

  take(type: string, id: string): Promise<Taken> {
    return this.#prefetched?.claim(type, id) ?? this.prefetch(type, id);
  }

  /** The same for an actor that does not live here yet. */
  prefetch(type: string, id: string): Promise<Taken> {
    return this.#takes.submit({ namespace: this.#namespace, type, id, owner: this.#incarnation });
  }

  commit(
    ref: number,
    epoch: number,
    version: number,
    write: StateWrite,
    extras: CommitExtras | undefined,
    caller: BatchCaller<CommitOutcome>,
  ): void {
    const id = `${this.#incarnation}.${(++this.#commitCount).toString(36)}`;
    const commit = { ref, epoch, version, id, write };
    this.#commits.send(extras === undefined ? commit : { ...commit, ...extras }, caller);
  }

  /** The host lost its actors. A take that is retried after this would fence the actor on its next host. */
  giveUpTakes(): void {
    this.#takes.giveUp();
  }

  /** No actor is left: waiting takes and commits are given up. */
  close(): void {
    this.#takes.giveUp();
    this.#commits.giveUp();
  }
}

function weightOf({ write, reminders, starts, messages }: Commit): number {
  let weight = "data" in write ? write.data.length : 0;
  for (const one of reminders ?? []) weight += one.kind === "set" ? (one.content.data?.length ?? 0) + 200 : 100;
  for (const { first } of starts ?? []) weight += first.data.length + 500;
  for (const { data } of messages ?? []) weight += data.length + 200;
  return weight;
}

const takenOver = (): LimpetError =>
  new LimpetError(
    "COMMIT_UNKNOWN",
    "the answer of the store was lost and the actor taken over; the turn may count or not",
  );
