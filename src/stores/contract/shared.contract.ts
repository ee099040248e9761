// Shared parts of the store contract: opening a store, and helpers to take and commit.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ActorKey } from "../../kernel/names.ts";
import type { Commit, CommitOutcome, StateWrite, Store, Taken, TakeRequest } from "../../ports/store/store.ts";

export interface OpenedStore {
  readonly store: Store;
  /** Another store object on the same data, as another process would have it. The suite closes it. */
  readonly second?: () => Promise<Store>;
  /** Opens the same data again after `store` was closed. The suite closes it. */
  readonly reopen?: () => Promise<Store>;
  /** Closes everything that is still open and removes all created data. */
  readonly dispose: () => Promise<void>;
}

export interface ContractOptions {
  /** Random runs of the model test; fewer where a round trip is slow. */
  readonly modelRuns?: number;
}

export interface Harness {
  readonly open: () => Promise<OpenedStore>;
  readonly opened: () => OpenedStore;
  readonly store: () => Store;
}

let namespaces = 0;

/** An unused namespace, also when the database under test is not new. */
export const freshNamespace = (): string => `ns-${++namespaces}-${randomUUID().slice(0, 8)}`;

export const actor = (id: string, namespace = freshNamespace(), type = "Cart"): ActorKey => ({ namespace, type, id });

/** Takes rows that no other transaction holds. */
export async function takeAll(store: Store, batch: readonly TakeRequest[]): Promise<Taken[]> {
  const answers = await store.take(batch);
  assert.equal(answers.length, batch.length);
  return answers.map((answer) => {
    assert.ok(answer !== undefined && answer !== "locked", "a row is locked");
    return answer;
  });
}

export async function take(store: Store, key: ActorKey, owner = "host-1"): Promise<Taken> {
  const [taken] = await takeAll(store, [{ ...key, owner }]);
  return taken as Taken;
}

export const whole = (data: string): StateWrite => ({ kind: "whole", data });
export const change = (data: string): StateWrite => ({ kind: "change", data });
export const clear: StateWrite = { kind: "clear" };
export const keep: StateWrite = { kind: "keep" };

/** A commit that builds on `held`; `ahead` counts the commits made since it was taken. */
export const commitOf = (held: Taken, write: StateWrite, ahead = 0): Commit => ({
  ref: held.ref,
  epoch: held.epoch,
  version: held.version + ahead,
  id: randomUUID(),
  write,
});

export async function send(store: Store, commit: Commit): Promise<CommitOutcome> {
  const outcomes = await store.commit([commit]);
  assert.equal(outcomes.length, 1);
  return outcomes[0] as CommitOutcome;
}

/** Commits `writes` one after the other on top of `held`; each must be committed. */
export async function write(store: Store, held: Taken, ...writes: StateWrite[]): Promise<void> {
  for (const [ahead, one] of writes.entries()) {
    assert.equal(await send(store, commitOf(held, one, ahead)), "committed");
  }
}
