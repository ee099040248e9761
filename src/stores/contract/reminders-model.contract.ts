// Random stories against a model small enough to be obviously right: a few claimers set, cancel, claim,
// settle and renew a few reminders while time passes, also with knowledge of earlier claims. The store must
// return the same results as the model.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { ReminderKey, Settlement } from "../../ports/store/reminders.ts";
import {
  cancelOf,
  freshToken,
  leasesOf,
  MINUTE,
  Place,
  type RemindersHarness,
  type RemindersOptions,
  setOf,
} from "./reminders-shared.contract.ts";

// In minutes, on the clock of the story. Time passes in tens; rows are due at fives and leases end at threes,
// so the real duration of a story makes no difference.
const tens = (min: number, max: number) => fc.integer({ min, max }).map((n) => n * 10);
const dueIn = tens(-3, 5).map((n) => n + 5);
const leaseFor = tens(0, 4).map((n) => n + 3);
const ahead = fc.constantFrom(0, 0, 10, 30);

/** The tick of a dead reminder, for any earlier tick. */
const DIED = { at: 0, due: 0, number: 3, attempt: 2 };

const TYPES = ["A", "B"];
const KEYS = 6;

interface Row {
  generation: number;
  at: number;
  number: number;
  attempt: number;
  token: string | undefined;
  until: number;
}

/** A claimer's knowledge of a row, current or not. */
interface Memory {
  readonly generation: number;
  readonly token: string;
}

const which = fc.nat(KEYS - 1);
/** Counted from the last one, and mostly one of the last. */
const remembered = fc.oneof({ weight: 3, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.nat(30) });
const end = fc.oneof(
  fc.record({ kind: fc.constant("done" as const) }),
  fc.record({ kind: fc.constant("release" as const) }),
  fc.record({ kind: fc.constant("dead" as const) }),
  fc.record({
    kind: fc.constant("next" as const),
    dueIn,
    lease: fc.option(leaseFor, { nil: undefined }),
    number: fc.integer({ min: 1, max: 4 }),
    attempt: fc.nat(2),
  }),
);
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("set" as const),
      which,
      dueIn,
      isNew: fc.boolean(),
      lease: fc.option(leaseFor, { nil: undefined, freq: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("cancel" as const), which: fc.uniqueArray(which, { maxLength: 3 }) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("claim" as const),
      types: fc.constantFrom(TYPES, TYPES, ["A"], ["B"]),
      limit: fc.integer({ min: 1, max: 4 }),
      ahead,
      lease: leaseFor,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("settle" as const),
      ends: fc.array(fc.record({ of: remembered, end }), { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("renew" as const), of: remembered, lease: leaseFor }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass" as const), tens: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("revive" as const), which }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("forget" as const), which }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Of<K extends Step["kind"]> = Extract<Step, { kind: K }>;

class Story {
  readonly #place: Place;
  readonly #advance: (ms: number) => Promise<void>;
  /** Minutes since it began. */
  #clock = 0;
  readonly #rows = new Map<number, Row>();
  readonly #dead = new Map<number, Row>();
  readonly #memories: Memory[] = [];

  constructor(place: Place, advance: (ms: number) => Promise<void>) {
    this.#place = place;
    this.#advance = advance;
  }

  #key(which: number): ReminderKey {
    return this.#place.key(`${which}`, "alice", TYPES[which % TYPES.length]!);
  }

  #remembered(of: number): Memory | undefined {
    return this.#memories[this.#memories.length - 1 - (of % this.#memories.length)];
  }

  #isLeased = (row: Row): boolean => row.token !== undefined && row.until > this.#clock;

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case "set":
        return this.#set(step);
      case "cancel": {
        const outcomes = await this.#place.reminders.write(step.which.map((one) => cancelOf(this.#key(one))));
        const expected = step.which.map((one) => ({ kind: "cancelled", existed: this.#rows.delete(one) }));
        return assert.deepEqual(outcomes, expected);
      }
      case "claim":
        return this.#claim(step);
      case "settle":
        return this.#settle(step);
      case "renew":
        return this.#renew(step);
      case "pass":
        this.#clock += step.tens * 10;
        return this.#advance(step.tens * 10 * MINUTE);
      case "revive": {
        const dead = this.#dead.get(step.which);
        const isRevived = dead !== undefined && !this.#rows.has(step.which);
        assert.equal(await this.#place.reminders.revive(this.#key(step.which)), isRevived);
        if (!isRevived) return;
        this.#dead.delete(step.which);
        const { generation } = await this.#place.stored(this.#key(step.which));
        this.#rows.set(step.which, { ...dead, generation, attempt: 0, at: this.#clock, token: undefined });
        return;
      }
      case "forget":
        return assert.equal(await this.#place.reminders.forget(this.#key(step.which)), this.#dead.delete(step.which));
    }
  }

  async #set({ which, dueIn, isNew, lease }: Of<"set">): Promise<void> {
    const token = freshToken();
    const own = lease === undefined ? undefined : { token, leaseMs: lease * MINUTE };
    const at = (await this.#place.now()) + dueIn * MINUTE;
    const [outcome] = await this.#place.reminders.write([setOf(this.#key(which), { at, isNew, lease: own })]);
    const before = this.#rows.get(which);
    if (isNew && before !== undefined) return assert.deepEqual(outcome, { kind: "exists" });
    assert.ok(outcome?.kind === "set" && outcome.generation !== before?.generation);
    const { generation } = outcome;
    const row = { generation, at: this.#clock + dueIn, number: 1, attempt: 0, until: this.#clock + (lease ?? 0) };
    this.#rows.set(which, { ...row, token: own?.token });
    this.#memories.push({ generation, token });
  }

  async #claim({ types, limit, ahead, lease }: Of<"claim">): Promise<void> {
    const token = freshToken();
    const request = { types, limit, aheadMs: ahead * MINUTE, leaseMs: lease * MINUTE, token };
    const { now, reminders, next } = await this.#place.claim(request);
    const asked = [...this.#rows].filter(([which]) => types.includes(TYPES[which % TYPES.length]!));
    const due = asked.filter(([, row]) => row.at <= this.#clock + ahead && !this.#isLeased(row));
    const expected = due.map(([, { at }]) => at).sort((a, b) => a - b);
    assert.deepEqual(
      reminders.map(({ tick }) => Math.round((tick.at - now) / MINUTE) + this.#clock),
      expected.slice(0, limit),
    );
    const claimed = new Set<number>();
    for (const { key, generation, tick } of reminders) {
      const which = Number(key.name);
      const row = this.#rows.get(which)!;
      assert.ok(due.some(([one]) => one === which) && !claimed.has(which));
      assert.deepEqual([generation, tick.number, tick.attempt], [row.generation, row.number, row.attempt]);
      claimed.add(which);
      row.token = token;
      row.until = this.#clock + lease;
      this.#memories.push({ generation, token });
    }
    const others = asked.filter(([which]) => !claimed.has(which)).map(([, row]) => row);
    if (others.length === 0) return assert.equal(next, undefined);
    const moments = others.map((row) => Math.max(row.at - ahead, this.#isLeased(row) ? row.until : 0, this.#clock));
    assert.ok(next !== undefined && next >= now);
    const minute = Math.round((next - now) / MINUTE) + this.#clock;
    assert.ok(minute <= Math.min(...moments), `${minute} is later than ${moments}`);
    if (reminders.length < limit) assert.ok(minute > this.#clock, "there was room for more");
  }

  async #settle({ ends }: Of<"settle">): Promise<void> {
    const settlements: Settlement[] = [];
    const expected: boolean[] = [];
    const seen = new Set<number>();
    const now = await this.#place.now();
    for (const { of, end } of ends) {
      const memory = this.#remembered(of);
      if (memory === undefined || seen.has(memory.generation)) continue;
      seen.add(memory.generation);
      const { generation, token } = memory;
      if (end.kind === "next") {
        const { number, attempt, dueIn, lease } = end;
        const at = now + dueIn * MINUTE;
        const leaseMs = lease === undefined ? undefined : lease * MINUTE;
        settlements.push({ kind: "next", tick: { at, due: at, number, attempt }, leaseMs, generation, token });
        const change = { at: this.#clock + dueIn, number, attempt };
        expected.push(this.#moveOn(memory, change, lease === undefined ? undefined : this.#clock + lease));
      } else {
        settlements.push(
          end.kind === "dead"
            ? { kind: "dead", tick: DIED, error: "e", generation, token }
            : { ...end, generation, token },
        );
        expected.push(this.#end(memory, end.kind));
      }
    }
    assert.deepEqual(await this.#place.reminders.settle(settlements), expected);
  }

  #held({ generation, token }: Memory): [which: number, row: Row] | undefined {
    return [...this.#rows].find(([, row]) => row.generation === generation && row.token === token);
  }

  #end(memory: Memory, kind: "done" | "release" | "dead"): boolean {
    const held = this.#held(memory);
    if (held === undefined) return false;
    const [which, row] = held;
    if (kind === "release") row.token = undefined;
    else this.#rows.delete(which);
    if (kind === "dead") this.#dead.set(which, { ...row, ...DIED });
    return true;
  }

  /** A tick before the row's current one comes too late. */
  #moveOn(memory: Memory, tick: Pick<Row, "at" | "number" | "attempt">, until: number | undefined): boolean {
    const row = this.#held(memory)?.[1];
    if (row === undefined) return false;
    if (tick.number < row.number || (tick.number === row.number && tick.attempt < row.attempt)) return false;
    Object.assign(row, tick);
    if (until === undefined) row.token = undefined;
    else row.until = until;
    return true;
  }

  async #renew({ of, lease }: Of<"renew">): Promise<void> {
    const memory = this.#remembered(of);
    if (memory === undefined) return;
    const asked = this.#memories.filter(({ token }) => token === memory.token).map(({ generation }) => generation);
    const lost = await this.#place.reminders.renew(leasesOf(asked, memory.token), lease * MINUTE);
    const gone = asked.filter((generation) => {
      const row = this.#held({ ...memory, generation })?.[1];
      if (row !== undefined) row.until = this.#clock + lease;
      return row === undefined;
    });
    assert.deepEqual(new Set(lost), new Set(gone));
  }

  async end(): Promise<void> {
    const { reminders, namespace } = this.#place;
    const now = await this.#place.now();
    const minute = (moment: number) => Math.round((moment - now) / MINUTE) + this.#clock;
    const listed = await reminders.list({ namespace, limit: 100 });
    const expected = [...this.#rows].map(([which, row]) => {
      const { generation, at, number, attempt } = row;
      return {
        key: this.#key(which),
        generation,
        at,
        number,
        attempt,
        until: this.#isLeased(row) ? row.until : undefined,
      };
    });
    assert.deepEqual(
      listed.map(({ key, generation, tick: { at, number, attempt }, leasedUntil }) => {
        return { key, generation, at: minute(at), number, attempt, until: leasedUntil && minute(leasedUntil) };
      }),
      expected.sort((a, b) => (a.key.type + a.key.name < b.key.type + b.key.name ? -1 : 1)),
    );
    const dead = await reminders.listDead({ namespace, limit: 100 });
    assert.deepEqual(
      dead.map(({ key, generation, tick }) => [Number(key.name), generation, tick.number, tick.attempt]).sort(),
      [...this.#dead].map(([which, { generation, number, attempt }]) => [which, generation, number, attempt]).sort(),
    );
    const { all, overdue, dead: deadOnes } = await reminders.count(namespace, 100);
    assert.deepEqual([all, deadOnes], [this.#rows.size, this.#dead.size]);
    const free = [...this.#rows.values()].filter((row) => !this.#isLeased(row));
    assert.ok(overdue >= free.filter(({ at }) => at < this.#clock).length);
    // A reminder that was revived at this very moment may be overdue by a millisecond.
    assert.ok(overdue <= free.filter(({ at }) => at <= this.#clock).length);
  }
}

export function reminderModelContract({ opened }: RemindersHarness, options: RemindersOptions): void {
  describe("model of reminders", () => {
    test("any story of claimers goes as the model predicts", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60, size: "max" }), async (steps) => {
          const { store, advance } = opened();
          const story = new Story(new Place(store), advance);
          for (const one of steps) await story.take(one);
          await story.end();
        }),
        { numRuns: options.modelRuns ?? 100 },
      );
    });
  });
}
