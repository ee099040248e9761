// Requests of operators to the leader of a term. A request waits no longer than the term lasts.
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import type { LeaderAnswer, LeaderRequest } from "../../ports/admin.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ShardRequests } from "../../ports/cluster/leader-feature.ts";
import type { Effect } from "../model/leader-effects.ts";
import type { NamespaceController } from "../model/namespace-controller.ts";
import { stickyPage } from "./views.ts";

export interface TermRequestsDeps {
  readonly clock: Clock;
  readonly namespaces: ReadonlyMap<string, NamespaceController>;
  readonly shards: ReadonlyMap<string, { readonly requests: ShardRequests }>;
  /** Performs the effects of a request. */
  perform(namespace: string, effects: Effect[]): void;
  /** Runs an input of the shards, if the leadership still lasts. */
  run(namespace: string, input: (now: number) => void): void;
  /** A request has ended: deadlines may have changed. */
  ended(): void;
  /** A request has shown a bug: the state of the term cannot be trusted. */
  failed(err: unknown): void;
}

export class TermRequests {
  readonly #deps: TermRequestsDeps;
  /** Rejects requests that wait for a durable write or for hosts; called when the term ends. */
  readonly #open = new Set<() => void>();

  constructor(deps: TermRequestsDeps) {
    this.#deps = deps;
  }

  async answer(request: Exclude<LeaderRequest, { kind: "cluster" }>): Promise<LeaderAnswer<LeaderRequest>> {
    switch (request.kind) {
      case "drain":
        return this.#drain(request.host);
      case "sticky": {
        const { namespaces, clock } = this.#deps;
        return stickyPage(namespaces.get(request.namespace), request.query, clock.monotonic());
      }
      case "release":
        return this.#release(request.namespace, request.type, request.id);
      case "shards":
        return this.#operate(request, (requests, now) => requests.view(request.type, now), notLeading);
      case "steerShards": {
        const { type, steering } = request;
        return this.#operate(request, (requests, now) => requests.steer(type, steering, now), persistedMaybe);
      }
    }
  }

  /** When the term ends before the answer, the request fails with `cutOff`. */
  #operate<T>(
    { namespace, type }: { readonly namespace: string; readonly type: string },
    run: (requests: ShardRequests, now: number) => Promise<T>,
    cutOff: () => LimpetError,
  ): Promise<T> {
    const requests = this.#deps.shards.get(namespace)?.requests;
    if (requests === undefined) {
      throw new LimpetError("NOT_SHARDED", `no host has actors of ${type} that live in shards`);
    }
    return new Promise((resolve, reject) => {
      let isReceived = false;
      const rejectRequest = (): void => reject(isReceived ? cutOff() : notLeading());
      this.#open.add(rejectRequest);
      this.#deps.run(namespace, (now) => {
        isReceived = true;
        const ended = (): void => {
          this.#open.delete(rejectRequest);
          this.#deps.ended();
        };
        const failed = (err: unknown): void => {
          if (isLimpetError(err, "INVARIANT")) this.#deps.failed(err);
          reject(err);
        };
        run(requests, now).finally(ended).then(resolve, failed);
      });
      if (isReceived) return;
      this.#open.delete(rejectRequest);
      rejectRequest();
    });
  }

  #release(namespace: string, type: string, id: string): void {
    const sticky = this.#deps.namespaces.get(namespace)?.sticky;
    const effects = sticky?.release(type, id, this.#deps.clock.monotonic());
    if (effects === undefined) throw new LimpetError("NOT_STICKY", `no host holds ${type}/${id} as a sticky actor`);
    if (effects === "silent")
      throw new LimpetError("NOT_READY", `the host of ${type}/${id} is not connected now; retry`);
    this.#deps.perform(namespace, effects);
  }

  #drain(which: string): void {
    let found = false;
    for (const [namespace, controller] of this.#deps.namespaces) {
      const effects = controller.drain(which);
      if (effects === undefined) continue;
      found = true;
      this.#deps.perform(namespace, effects);
    }
    if (!found) throw new LimpetError("HOST_UNKNOWN", `no host is called ${which}`);
  }

  /** The term has ended. */
  end(): void {
    for (const rejectRequest of this.#open) rejectRequest();
  }
}

const notLeading = (): LimpetError => new LimpetError("NOT_LEADER", "this scheduler does not lead any more");

/** The write may be in the store, or on its way to it. */
const persistedMaybe = (): LimpetError =>
  new LimpetError("COMMIT_UNKNOWN", "this scheduler does not lead any more; the store may have applied the request");
