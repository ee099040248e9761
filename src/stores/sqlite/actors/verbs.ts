// The verbs about actors. A batch crosses as two flat arrays, one of numbers and one of strings: copying 256
// small objects between threads costs about three times as much as copying the two arrays. No module besides
// this one and actor-statements.ts depends on the layout.
import type { ActorKey } from "../../../kernel/names.ts";
import type { ActorQuery, Commit, CommitOutcome, Taken, TakeRequest } from "../../../ports/store/store.ts";
import {
  type AttachedReminders,
  type PackedAttachedReminders,
  packAttachedReminders,
  packLeases,
  unpackAttachedReminders,
} from "../reminders/messages.ts";
import { counts } from "../reminders/statements.ts";
import type { Statements } from "../thread/statements.ts";
import { close, read, write } from "../thread/verb.ts";
import { type PackedAttachedWorkflows, packAttachedWorkflows, unpackAttachedWorkflows } from "../workflows/packing.ts";

export interface PackedCommits {
  readonly numbers: readonly number[];
  readonly strings: readonly string[];
  /** The incarnations of this process, the newest last. */
  readonly owners: readonly string[];
  readonly attachedReminders: PackedAttachedReminders | undefined;
  readonly attachedWorkflows: PackedAttachedWorkflows | undefined;
}

export interface TakeAnswer {
  /** For each actor: ref, epoch, version, and how many strings its state has. */
  readonly numbers: readonly number[];
  /** The states one after the other, each a whole and its changes. */
  readonly strings: readonly string[];
}

/** Places in the batch, ascending, of the commits that do not count: nearly always none. */
export interface CommitAnswer {
  readonly fenced: readonly number[];
  readonly voided: readonly number[];
  /** For each applied commit that set reminders with leases. */
  readonly leases?: readonly LeasesAnswer[];
}

/**
 * A commit's place in the batch, and a generation for each of its reminders; 0 for a reminder without a
 * lease.
 */
export interface LeasesAnswer {
  readonly place: number;
  readonly generations: readonly number[];
}

export const TAKE_STRINGS = 4;
export const COMMIT_NUMBERS = 4;
export const COMMIT_STRINGS = 2;
export const WRITE_KIND = { whole: 0, change: 1, clear: 2, keep: 3 } as const;
const TAKE_NUMBERS = 4;

export const STORE_VERBS = {
  /** `floor`: the least epoch of these takes. */
  take: write((on, strings: readonly string[], floor: number) => on.actors.take(strings, floor, Date.now()), {
    rows: (_, strings) => strings.length / TAKE_STRINGS,
  }),
  commit: write(commit, { repeat: "recognised", rows: rowsOfCommits }),
  list: read((on, query: ActorQuery) => on.listing.list(query)),
  find: read((on, key: ActorKey) => on.listing.find(key)),
  ping: read(({ db }) => db.exec("SELECT 1 FROM actors LIMIT 1")),
  // The last connection to the file copies the log into it.
  close: close(({ db }) => db.close()),
};

function commit(on: Statements, packed: PackedCommits): CommitAnswer {
  const { numbers, strings, owners, attachedReminders, attachedWorkflows } = packed;
  if (attachedReminders !== undefined || attachedWorkflows !== undefined) return commitWithAttachments(on, packed);
  const { fenced, voided } = on.actors.commit(numbers, strings, owners, Date.now());
  return { fenced, voided };
}

/**
 * The commits of one batch are independent of each other, so all of them settle before any of them writes.
 */
function commitWithAttachments(
  { actors, reminders, workflows }: Statements,
  { numbers, strings, owners, ...attached }: PackedCommits,
): CommitAnswer {
  const attachedReminders: readonly AttachedReminders[] =
    attached.attachedReminders === undefined ? [] : unpackAttachedReminders(attached.attachedReminders);
  const held = reminders.held(attachedReminders.flatMap(({ settlements }) => settlements));
  const areVoid = attachedReminders.filter(({ settlements }) => settlements.some((one) => !counts(one, held)));
  const voids = new Set(areVoid.map(({ place }) => place));
  const isVoid = (place: number): boolean => voids.has(place);
  const { fenced, repeated, voided } = actors.commit(numbers, strings, owners, Date.now(), isVoid);
  const idle = new Set([...fenced, ...repeated, ...voided]);
  const counting = attachedReminders.filter(({ place }) => !idle.has(place));
  const settlements = counting.flatMap((one) => one.settlements);
  if (settlements.length > 0) reminders.settle(settlements, Date.now(), held);
  const writes = counting.flatMap((one) => one.writes);
  const set = writes.length > 0 ? reminders.write(writes, Date.now()) : [];
  const attachedWorkflows =
    attached.attachedWorkflows === undefined ? [] : unpackAttachedWorkflows(attached.attachedWorkflows);
  workflows.applyAttached(
    attachedWorkflows.filter(({ place }) => !idle.has(place)),
    Date.now(),
  );
  return { fenced, voided, leases: packLeases(counting, set) };
}

function rowsOfCommits(_: unknown, { numbers, attachedReminders, attachedWorkflows }: PackedCommits): number {
  const reminders =
    attachedReminders === undefined ? 0 : attachedReminders.settlements.count + attachedReminders.writes.count;
  const workflows =
    attachedWorkflows === undefined ? 0 : attachedWorkflows.starts.starts.count + attachedWorkflows.messages.count;
  return numbers.length / COMMIT_NUMBERS + reminders + workflows;
}

export function packTakes(batch: readonly TakeRequest[]): string[] {
  const strings: string[] = [];
  for (const { namespace, type, id, owner } of batch) strings.push(namespace, type, id, owner);
  return strings;
}

export function unpackTaken({ numbers, strings }: TakeAnswer): Taken[] {
  const taken: Taken[] = [];
  let next = 0;
  for (let i = 0; i < numbers.length; i += TAKE_NUMBERS) {
    const count = numbers[i + 3] as number;
    const state =
      count === 0 ? undefined : { whole: strings[next] as string, changes: strings.slice(next + 1, next + count) };
    next += count;
    taken.push({
      ref: numbers[i] as number,
      epoch: numbers[i + 1] as number,
      version: numbers[i + 2] as number,
      state,
    });
  }
  return taken;
}

export function packCommits(batch: readonly Commit[], owners: readonly string[]): PackedCommits {
  const numbers: number[] = [];
  const strings: string[] = [];
  for (const { ref, epoch, version, id, write } of batch) {
    numbers.push(ref, epoch, version, WRITE_KIND[write.kind]);
    strings.push(id, write.kind === "whole" || write.kind === "change" ? write.data : "");
  }
  const attached = { attachedReminders: packAttachedReminders(batch), attachedWorkflows: packAttachedWorkflows(batch) };
  return { numbers, strings, owners, ...attached };
}

export function unpackCommitOutcomes({ fenced, voided, leases }: CommitAnswer, count: number): CommitOutcome[] {
  const outcomes = new Array<CommitOutcome>(count).fill("committed");
  for (const place of fenced) outcomes[place] = "fenced";
  for (const place of voided) outcomes[place] = "void";
  for (const { place, generations } of leases ?? []) {
    outcomes[place] = { kind: "committed", generations: generations.map((one) => (one === 0 ? undefined : one)) };
  }
  return outcomes;
}
