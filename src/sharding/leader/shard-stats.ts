// Asks all hosts of a type for the number of actors in each of their shards, for display. Hosts that do not
// answer in time are left out.
import type { ShardReport } from "../../ports/control-messages.ts";

export type Counted = ReadonlyMap<number, number>;

interface StatsRequest {
  readonly type: string;
  readonly waiting: Set<string>;
  readonly counts: Map<string, Counted>;
  readonly until: number;
  readonly done: (counts: ReadonlyMap<string, Counted>) => void;
}

/** Time limit for slow hosts. */
const PATIENCE_MS = 2_000;

export class ShardStats {
  readonly #open = new Map<number, StatsRequest>();
  #last = 0;

  get deadline(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { until } of this.#open.values()) first = Math.min(first, until);
    return first;
  }

  /** `send` sends the request to all hosts. Resolves to the answers received in time. */
  begin(
    type: string,
    hosts: readonly string[],
    now: number,
    send: (question: number) => void,
  ): Promise<ReadonlyMap<string, Counted>> {
    if (hosts.length === 0) return Promise.resolve(new Map());
    const question = ++this.#last;
    const answer = new Promise<ReadonlyMap<string, Counted>>((done) => {
      this.#open.set(question, { type, waiting: new Set(hosts), counts: new Map(), until: now + PATIENCE_MS, done });
    });
    send(question);
    return answer;
  }

  answered(host: string, { question, type, shards, actors }: Extract<ShardReport, { kind: "shardStats" }>): void {
    const request = this.#open.get(question);
    if (request?.type !== type || !request.waiting.delete(host)) return;
    request.counts.set(host, new Map(shards.map((shard, i) => [shard, actors[i]!])));
    if (request.waiting.size === 0) this.#end(question, request);
  }

  /** The host has no stream any more. */
  lost(host: string): void {
    for (const [question, request] of this.#open) {
      if (request.waiting.delete(host) && request.waiting.size === 0) this.#end(question, request);
    }
  }

  tick(now: number): void {
    for (const [question, request] of this.#open) if (request.until <= now) this.#end(question, request);
  }

  #end(question: number, { counts, done }: StatsRequest): void {
    this.#open.delete(question);
    done(counts);
  }
}
