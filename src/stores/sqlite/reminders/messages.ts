// Encodes reminders as flat arrays of numbers and strings, like takes and commits, between the store and its
// worker thread. Each pair of functions encodes and decodes one message; no other module depends on the
// layout.
import {
  bringsLease,
  type Claim,
  type ClaimedReminder,
  type ClaimRequest,
  type ReminderOutcome,
  type ReminderWrite,
  type Rewriting,
  type Settlement,
  type Tick,
} from "../../../ports/store/reminders.ts";
import type { Commit } from "../../../ports/store/store.ts";
import type { LeasesAnswer } from "../actors/verbs.ts";
import type { Packed } from "../thread/flat-arrays.ts";

/** The attached reminders of a batch of commits. */
export interface PackedAttachedReminders {
  /**
   * For each commit with attached reminders: its place in the batch, the number of settlements, the number of
   * writes.
   */
  readonly places: readonly number[];
  readonly settlements: Packed;
  readonly writes: Packed;
}

/**
 * For each set the new generation, or 0 if the key was to be new and is not; for each cancel 1 if the
 * reminder existed, else 0.
 */
export type RemindAnswer = readonly number[];

export interface ClaimAnswer extends Packed {
  readonly now: number;
  readonly next: number | undefined;
}

const CANCEL = 1;
const IS_NEW = 2;
const HAS_DATA = 4;
const HAS_LEASE = 8;

/** Reads flat arrays from their beginning. */
class Reader {
  readonly #packed: Packed;
  #number = 0;
  #string = 0;

  constructor(packed: Packed) {
    this.#packed = packed;
  }

  number(): number {
    return this.#packed.numbers[this.#number++] as number;
  }

  string(): string {
    return this.#packed.strings[this.#string++] as string;
  }

  tick(): Tick {
    return { at: this.number(), due: this.number(), number: this.number(), attempt: this.number() };
  }
}

export function packWrites(batch: readonly ReminderWrite[]): Packed {
  const numbers: number[] = [];
  const strings: string[] = [];
  for (const write of batch) {
    const { namespace, type, id, name } = write.key;
    strings.push(namespace, type, id, name);
    if (write.kind === "cancel") {
      numbers.push(CANCEL);
      continue;
    }
    const { tick, content, lease, isNew } = write;
    const flags = (isNew ? IS_NEW : 0) | (content.data === undefined ? 0 : HAS_DATA) | (lease ? HAS_LEASE : 0);
    numbers.push(flags, tick.at, tick.due, tick.number, tick.attempt);
    strings.push(content.schedule);
    if (content.data !== undefined) strings.push(content.data);
    if (lease === undefined) continue;
    numbers.push(lease.leaseMs);
    strings.push(lease.token);
  }
  return { count: batch.length, numbers, strings };
}

export function unpackWrites(packed: Packed): ReminderWrite[] {
  const from = new Reader(packed);
  return Array.from({ length: packed.count }, (): ReminderWrite => {
    const key = { namespace: from.string(), type: from.string(), id: from.string(), name: from.string() };
    const flags = from.number();
    if (flags === CANCEL) return { kind: "cancel", key };
    const tick = from.tick();
    const content = { schedule: from.string(), data: flags & HAS_DATA ? from.string() : undefined };
    const lease = flags & HAS_LEASE ? { leaseMs: from.number(), token: from.string() } : undefined;
    return { kind: "set", key, tick, content, lease, isNew: (flags & IS_NEW) !== 0 };
  });
}

export function unpackReminderOutcomes(answer: RemindAnswer, batch: readonly ReminderWrite[]): ReminderOutcome[] {
  return batch.map(({ kind }, i): ReminderOutcome => {
    const result = answer[i] as number;
    if (kind === "cancel") return { kind: "cancelled", existed: result === 1 };
    return result === 0 ? { kind: "exists" } : { kind: "set", generation: result };
  });
}

const KINDS = ["done", "next", "release", "dead"] as const;
const NO_LEASE = -1;

/** Most settlements of a batch have the same few tokens, so each token crosses once. */
export function packSettlements(batch: readonly Settlement[]): Packed {
  const numbers: number[] = [];
  const strings: string[] = [];
  const places = new Map<string, number>();
  for (const settlement of batch) {
    let place = places.get(settlement.token);
    if (place === undefined) {
      place = strings.push(settlement.token) - 1;
      places.set(settlement.token, place);
    }
    numbers.push(settlement.generation, place, KINDS.indexOf(settlement.kind));
    if (settlement.kind !== "next" && settlement.kind !== "dead") continue;
    const { at, due, number, attempt } = settlement.tick;
    const rest = settlement.kind === "next" ? (settlement.leaseMs ?? NO_LEASE) : strings.push(settlement.error) - 1;
    numbers.push(at, due, number, attempt, rest);
  }
  return { count: batch.length, numbers, strings };
}

export function unpackSettlements(packed: Packed): Settlement[] {
  const from = new Reader(packed);
  const stringAt = (place: number): string => packed.strings[place] as string;
  return Array.from({ length: packed.count }, (): Settlement => {
    const generation = from.number();
    const token = stringAt(from.number());
    const kind = KINDS[from.number()] as Settlement["kind"];
    if (kind !== "next" && kind !== "dead") return { kind, generation, token };
    const tick = from.tick();
    if (kind === "dead") return { kind, generation, token, tick, error: stringAt(from.number()) };
    const leaseMs = from.number();
    return { kind, generation, token, tick, leaseMs: leaseMs === NO_LEASE ? undefined : leaseMs };
  });
}

/** Their data is large compared with their tokens, so each has its own token. */
export function packRewritings(batch: readonly Rewriting[]): Packed {
  const numbers: number[] = [];
  const strings: string[] = [];
  for (const { generation, token, tick, leaseMs, data } of batch) {
    numbers.push(generation, tick.at, tick.due, tick.number, tick.attempt, leaseMs ?? NO_LEASE);
    strings.push(token, data);
  }
  return { count: batch.length, numbers, strings };
}

export function unpackRewritings(packed: Packed): Rewriting[] {
  const from = new Reader(packed);
  return Array.from({ length: packed.count }, (): Rewriting => {
    const generation = from.number();
    const tick = from.tick();
    const leaseMs = from.number();
    const [token, data] = [from.string(), from.string()];
    return { generation, token, tick, leaseMs: leaseMs === NO_LEASE ? undefined : leaseMs, data };
  });
}

/** `undefined` when no commit has attached reminders, which is nearly always. */
export function packAttachedReminders(batch: readonly Commit[]): PackedAttachedReminders | undefined {
  if (batch.every(({ settle, reminders }) => settle === undefined && reminders === undefined)) return undefined;
  const places: number[] = [];
  const settlements: Settlement[] = [];
  const writes: ReminderWrite[] = [];
  for (const [place, { settle = [], reminders = [] }] of batch.entries()) {
    if (settle.length + reminders.length === 0) continue;
    places.push(place, settle.length, reminders.length);
    settlements.push(...settle);
    writes.push(...reminders);
  }
  return { places, settlements: packSettlements(settlements), writes: packWrites(writes) };
}

/** The attached reminders of one commit. */
export interface AttachedReminders {
  readonly place: number;
  readonly settlements: readonly Settlement[];
  readonly writes: readonly ReminderWrite[];
}

export function unpackAttachedReminders({ places, settlements, writes }: PackedAttachedReminders): AttachedReminders[] {
  const allSettlements = unpackSettlements(settlements);
  const allWrites = unpackWrites(writes);
  const attachedReminders: AttachedReminders[] = [];
  let [settlement, write] = [0, 0];
  for (let i = 0; i < places.length; i += 3) {
    const [place, settles, sets] = places.slice(i, i + 3) as [number, number, number];
    attachedReminders.push({
      place,
      settlements: allSettlements.slice(settlement, settlement + settles),
      writes: allWrites.slice(write, write + sets),
    });
    settlement += settles;
    write += sets;
  }
  return attachedReminders;
}

/**
 * Generations of the reminders that these commits set with leases; `set` has the results of all their writes.
 */
export function packLeases(attachedReminders: readonly AttachedReminders[], set: RemindAnswer): LeasesAnswer[] {
  const leases: LeasesAnswer[] = [];
  let next = 0;
  for (const { place, writes } of attachedReminders) {
    const generations = writes.map((write, i) =>
      write.kind === "set" && write.lease !== undefined ? (set[next + i] as number) : 0,
    );
    next += writes.length;
    if (bringsLease(writes)) leases.push({ place, generations });
  }
  return leases;
}

/** A claimed row in the worker; its type is a place in the request. */
export interface ClaimedRow {
  readonly generation: number;
  readonly typePlace: number;
  readonly id: string;
  readonly name: string;
  readonly tick: Tick;
  readonly schedule: string;
  readonly data: string | null;
}

export function packClaimed(rows: readonly ClaimedRow[], now: number, next: number | undefined): ClaimAnswer {
  const numbers: number[] = [];
  const strings: string[] = [];
  for (const { generation, typePlace, id, name, tick, schedule, data } of rows) {
    numbers.push(generation, typePlace, data === null ? 0 : 1, tick.at, tick.due, tick.number, tick.attempt);
    strings.push(id, name, schedule);
    if (data !== null) strings.push(data);
  }
  return { now, next, count: rows.length, numbers, strings };
}

export function unpackClaimed(answer: ClaimAnswer, { namespace, types }: ClaimRequest): Claim {
  const from = new Reader(answer);
  const reminders = Array.from({ length: answer.count }, (): ClaimedReminder => {
    const generation = from.number();
    const type = types[from.number()] as string;
    const hasData = from.number() === 1;
    const key = { namespace, type, id: from.string(), name: from.string() };
    return { generation, key, tick: from.tick(), schedule: from.string(), data: hasData ? from.string() : undefined };
  });
  return { now: answer.now, reminders, next: answer.next };
}
