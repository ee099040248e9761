import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { StateWrite, StoredState } from "../../ports/store/store.ts";
import { StateBuffer } from "./state-buffer.ts";

type Any = Record<string, never>;

/** The rows of a store, written by the buffer's writes. */
class Rows {
  stored: StoredState | undefined;

  write(write: StateWrite): void {
    if (write.kind === "clear") this.stored = undefined;
    else if (write.kind === "whole") this.stored = { whole: write.data, changes: [] };
    else if (write.kind === "change")
      this.stored = { whole: this.stored!.whole, changes: [...this.stored!.changes, write.data] };
  }
}

function commit(buffer: StateBuffer, rows: Rows): StateWrite | undefined {
  const write = buffer.prepare();
  if (write !== undefined) rows.write(write);
  buffer.committed();
  return write;
}

/** The plain value behind a buffer's draft, order of keys included. */
const view = (buffer: StateBuffer): unknown => {
  const plain = ordered(buffer.draft);
  buffer.abandon();
  return plain;
};

/** A form in which deepStrictEqual also compares the order of keys, entries and members. */
function ordered(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Date || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(ordered);
  if (value instanceof Map) return ["Map", [...value].map(ordered)];
  if (value instanceof Set) return ["Set", [...value].map(ordered)];
  return ["Object", Object.entries(value).map(([key, item]) => [key, ordered(item)])];
}

interface Action {
  readonly walk: readonly number[];
  readonly verb: number;
  readonly key: string;
  readonly at: number;
  readonly value: unknown;
}

const leaf = fc.oneof(fc.integer(), fc.string(), fc.constantFrom(null, undefined, Number.NaN, -0, 7n), fc.date());
const value: fc.Arbitrary<unknown> = fc.oneof(
  leaf,
  fc.array(leaf, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom("a", "b", "$", "__proto__", "1"), leaf, { maxKeys: 3 }),
  fc
    .array(fc.tuple(fc.constantFrom("a", "b", 1, 2n), leaf), { maxLength: 3 })
    .map((pairs) => new Map<unknown, unknown>(pairs)),
  fc.array(leaf, { maxLength: 3 }).map((items) => new Set(items)),
  fc.uint8Array({ minLength: 1, maxLength: 4 }),
  fc.constant(null).map(() => ({ deep: { list: [{ n: 1 }, { n: 2 }], map: new Map([["k", { n: 1 }]]) } })),
);
const action: fc.Arbitrary<Action> = fc.record({
  walk: fc.array(fc.nat(8), { maxLength: 4 }),
  verb: fc.nat(14),
  key: fc.constantFrom("a", "b", "c", "$", "__proto__", "1"),
  at: fc.nat(5),
  value,
});

/** Applies the same action to a draft and to a plain object. */
function act(root: unknown, { walk, verb, key, at, value: given }: Action): void {
  const fresh = structuredClone(given);
  let here = root;
  for (const turn of walk) {
    const inside = children(here).filter((item) => typeof item === "object" && item !== null);
    const next = inside[turn % Math.max(inside.length, 1)];
    if (next === undefined) break;
    here = next;
  }
  if (here instanceof Date) here.setTime(at);
  else if (here instanceof Uint8Array) here[at % here.length] = at;
  else if (here instanceof Map) actOnMap(here, verb, key, fresh);
  else if (here instanceof Set) actOnSet(here, verb, fresh);
  else if (Array.isArray(here)) actOnArray(here, verb, at, fresh);
  else if (verb > 12) Object.assign(here as object, { alias: children(here)[at % (children(here).length || 1)] });
  else if (verb < 3) delete (here as Any)[key];
  else if (verb < 5) Object.assign(here as object, { extra: fresh, twin: fresh });
  else Object.defineProperty(here, key, { value: fresh, writable: true, enumerable: true, configurable: true });
}

function children(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if (value instanceof Map) return [...value.values()];
  if (value instanceof Set) return [...value];
  return Object.values(value);
}

function actOnMap(map: Map<unknown, unknown>, verb: number, key: string, fresh: unknown): void {
  if (verb < 3) map.delete(key);
  else if (verb === 3) map.clear();
  else if (verb === 4) map.set({ not: "addressable" }, fresh);
  else map.set(key, fresh);
}

function actOnSet(set: Set<unknown>, verb: number, fresh: unknown): void {
  if (verb < 3) set.delete([...set][0]);
  else if (verb === 3) set.clear();
  else set.add(fresh);
}

function actOnArray(list: unknown[], verb: number, at: number, fresh: unknown): void {
  if (verb === 0) list.shift();
  else if (verb === 1) list.pop();
  else if (verb === 2) list.splice(at % (list.length + 1), 1, fresh, fresh);
  else if (verb === 3) list.reverse();
  else if (verb === 4) list.length = Math.min(list.length, at);
  else if (verb === 5) list.sort();
  else if (verb === 6) list.fill(1, at);
  else if (verb === 7 && list.length > 0) list[at % list.length] = fresh;
  else if (verb === 8) list.unshift(fresh);
  else if (verb === 12) list.push(list[at % (list.length || 1)]);
  else if (verb > 12) list.push(list.shift());
  else list.push(fresh, { fresh: true });
}

/**
 * The value as stored: within one turn an object may stand at two places; after the commit they are two
 * objects.
 */
const normal = (value: unknown): unknown =>
  plain(new StateBuffer({ whole: encode(value), changes: [] }, () => ({})).draft);

describe("the state of an activation", () => {
  const rich = {
    a: { list: [1, { n: 1 }, [2]], when: new Date(0), bytes: new Uint8Array([1, 2]) },
    b: new Map<unknown, unknown>([
      ["a", { n: 1 }],
      ["b", [1]],
    ]),
    c: new Set<unknown>([1, "two", { three: 3 }]),
  };
  const json = { a: { list: [1, { n: 1 }, [2]] }, b: { deep: { er: [] } }, c: "text" };
  const turn = fc.record({
    actions: fc.array(action, { maxLength: 6 }),
    inside: fc.option(fc.array(action, { maxLength: 4 })),
    insideFails: fc.boolean(),
    fails: fc.boolean(),
  });

  for (const [name, start] of Object.entries({ json, rich })) {
    for (const [size, filler] of [
      ["small", 0],
      ["large", 5_000],
    ] as const) {
      it(`the state equals a plain object after any turns, in memory and read back, when it is ${size} and ${name}`, () => {
        fc.assert(
          fc.property(fc.array(turn, { maxLength: 8 }), (turns) => {
            const initial = () => ({ filler: "x".repeat(filler), ...structuredClone(start) });
            const rows = new Rows();
            let buffer = new StateBuffer(undefined, initial);
            let model: unknown = initial();
            for (const { actions, inside, insideFails, fails } of turns) {
              let next = structuredClone(model);
              const both = (one: Action): void => {
                act(buffer.draft, one);
                act(next, one);
              };
              let lost = false;
              actions.forEach(both);
              if (inside !== null) {
                const savepoint = buffer.savepoint();
                const before = structuredClone(next);
                inside.forEach(both);
                if (insideFails) {
                  next = before;
                  lost = !buffer.rollback(savepoint);
                }
                if (!lost) actions.forEach(both);
              }
              if (fails || lost) {
                if (!buffer.abandon()) buffer = new StateBuffer(rows.stored, initial);
              } else {
                commit(buffer, rows);
                model = normal(next);
              }
              assert.deepStrictEqual(view(buffer), ordered(model));
              const stored = rows.stored ? model : initial();
              assert.deepStrictEqual(view(new StateBuffer(rows.stored, initial)), ordered(stored));
            }
          }),
          { numRuns: 400 },
        );
      });
    }
  }

  it("the state takes more items in one turn than an argument list can hold, forwards and backwards", () => {
    const rows = new Rows();
    const many = 200_000;
    const buffer = new StateBuffer(undefined, () => ({ filler: "x".repeat(3_000_000), list: [] as number[] }));
    (buffer.draft as Any).n = 1 as never;
    commit(buffer, rows);
    const draft = buffer.draft as { list: number[] };
    for (let i = 0; i < many; i++) draft.list.push(i);
    assert.equal(commit(buffer, rows)?.kind, "change");
    const back = new StateBuffer(rows.stored, () => ({}));
    assert.equal((back.draft as { list: number[] }).list.length, many);
    (buffer.draft as { list: number[] }).list.length = 0;
    assert.equal(buffer.abandon(), true);
    assert.equal((buffer.draft as { list: number[] }).list.at(-1), many - 1);
  });

  it("the state is not changed by a Date, bytes or a key of a Map that user code kept from an earlier turn", () => {
    const rows = new Rows();
    const initial = () => ({
      when: new Date(1),
      bytes: new Uint8Array([1]),
      list: [new Date(2)],
      set: new Set([new Date(3)]),
      map: new Map([[{ k: 1 }, 1]]),
    });
    const buffer = new StateBuffer(undefined, initial);
    const draft = buffer.draft as ReturnType<typeof initial>;
    const kept = [draft.when, draft.list[0]!, [...draft.set][0]!];
    const bytes = draft.bytes;
    draft.when.setTime(10);
    [...draft.map.keys()][0]!.k = 5;
    commit(buffer, rows);
    for (const date of kept) date.setTime(99);
    bytes[0] = 99;
    const expected = ordered({
      when: new Date(10),
      bytes: new Uint8Array([1]),
      list: [new Date(2)],
      set: new Set([new Date(3)]),
      map: new Map([[{ k: 5 }, 1]]),
    });
    assert.deepStrictEqual(view(buffer), expected);
    assert.deepStrictEqual(view(new StateBuffer(rows.stored, initial)), expected);
  });

  it("the state is restored when it cannot be encoded, at any point of the encoding", () => {
    for (const filler of [0, 5_000]) {
      const rows = new Rows();
      const initial = () => ({ filler: "x".repeat(filler), a: [3, 1, 2], b: {} as Record<string, unknown> });
      const buffer = new StateBuffer(undefined, initial);
      (buffer.draft as ReturnType<typeof initial>).b.n = 1;
      commit(buffer, rows);
      const before = view(buffer);
      const draft = buffer.draft as ReturnType<typeof initial>;
      draft.a.sort();
      draft.b.f = () => 1;
      assert.throws(() => buffer.prepare(), { code: "STATE_INVALID" });
      assert.equal(buffer.abandon(), true);
      assert.deepStrictEqual(view(buffer), before);
    }
  });

  it("the state cannot be replaced during a commit", () => {
    const buffer = new StateBuffer(undefined, () => ({ n: 0 }));
    (buffer.draft as { n: number }).n = 1;
    buffer.prepare();
    assert.throws(() => buffer.replace({ n: 2 }), { code: "STATE_OUTSIDE_TURN" });
    assert.throws(() => buffer.clear(() => ({ n: 0 })), { code: "STATE_OUTSIDE_TURN" });
  });

  it("a state that is nested too deeply to be written whole is rejected", () => {
    const rows = new Rows();
    const buffer = new StateBuffer(undefined, () => ({
      filler: "x".repeat(9_000),
      down: {} as Record<string, unknown>,
    }));
    (buffer.draft as Any).n = 1 as never;
    commit(buffer, rows);
    const deepen = () => {
      let at = (buffer.draft as { down: Record<string, unknown> }).down;
      while (at.down !== undefined) at = at.down as Record<string, unknown>;
      let tail: Record<string, unknown> = {};
      for (let i = 0; i < 90; i++) tail = { down: tail };
      at.down = tail;
      commit(buffer, rows);
    };
    deepen();
    deepen();
    assert.throws(deepen, { code: "STATE_INVALID", message: /nested deeper/ });
  });

  it("the cost of a commit depends on the touched part, not on the size of the state", () => {
    const rows = new Rows();
    const buffer = new StateBuffer(undefined, () => ({
      users: new Map(Array.from({ length: 10_000 }, (_, i) => [`user${i}`, { visits: 0, tags: ["a"] }])),
      queue: Array.from({ length: 10_000 }, (_, i) => i),
    }));
    const draft = buffer.draft as { users: Map<string, { visits: number; tags: string[] }>; queue: number[] };
    draft.queue.push(1);
    assert.equal(commit(buffer, rows)?.kind, "whole");

    const again = buffer.draft as typeof draft;
    again.users.get("user77")!.visits++;
    again.users.get("user78")!.tags.push("b");
    again.queue.shift();
    again.queue.push(5);
    assert.deepEqual(commit(buffer, rows), {
      kind: "change",
      data: '[["=",["users",["user77"],"visits"],1],["~",["users",["user78"],"tags"],1,0,["b"]],["~",["queue"],0,1,[]],["~",["queue"],10000,0,[5]]]',
    });
  });

  it("the state is written whole again when the appended changes are as long as the whole", () => {
    const rows = new Rows();
    const buffer = new StateBuffer(undefined, () => ({ filler: "x".repeat(3_000), n: 0 }));
    const kinds: string[] = [];
    for (let i = 0; i < 60; i++) {
      (buffer.draft as { n: number }).n++;
      kinds.push(commit(buffer, rows)!.kind);
      assert.deepEqual(view(new StateBuffer(rows.stored, () => ({}))), view(buffer));
    }
    assert.equal(kinds[0], "whole");
    assert.ok(kinds.filter((kind) => kind === "whole").length >= 2);
    assert.ok(kinds.filter((kind) => kind === "whole").length <= 4);
  });

  it("the state is not written when a turn only reads it, or sets equal values", () => {
    const buffer = new StateBuffer(undefined, () => ({ n: 1, list: [1], at: new Date(5), map: new Map([["a", 1]]) }));
    const draft = buffer.draft as { n: number; list: number[]; at: Date; map: Map<string, number> };
    draft.n = 1;
    draft.list[0] = 1;
    draft.map.set("a", 1);
    draft.at.getTime();
    JSON.stringify(draft);
    assert.equal(buffer.prepare(), undefined);
  });

  it("an object put into the state may be changed until the turn ends", () => {
    const rows = new Rows();
    const buffer = new StateBuffer(undefined, () => ({ lines: [] as { qty: number }[] }));
    const line = { qty: 0 };
    (buffer.draft as { lines: { qty: number }[] }).lines.push(line);
    line.qty = 5;
    commit(buffer, rows);
    line.qty = 99;
    assert.deepEqual(view(buffer), ordered({ lines: [{ qty: 5 }] }));
    assert.deepEqual(view(new StateBuffer(rows.stored, () => ({}))), ordered({ lines: [{ qty: 5 }] }));
  });

  it("a change through a draft that outlived its turn is rejected", () => {
    const buffer = new StateBuffer(undefined, () => ({ list: [1], map: new Map([["a", 0]]), set: new Set() }));
    const kept = buffer.draft as { list: number[]; map: Map<string, number>; set: Set<number>; x?: number };
    buffer.prepare();
    for (const change of [
      () => kept.list.push(2),
      () => kept.list.sort(),
      () => kept.map.set("a", 1),
      () => kept.set.add(1),
      () => kept.list.splice(0, 1),
      () => kept.map.clear(),
      () => {
        kept.x = 1;
      },
    ]) {
      assert.throws(change, { code: "STATE_OUTSIDE_TURN" });
    }
  });

  it("the error for a value that cannot be stored names its place, and the state is restored", () => {
    for (const filler of [0, 5_000]) {
      const rows = new Rows();
      const buffer = new StateBuffer(undefined, () => ({ filler: "x".repeat(filler), a: { list: [{}] as object[] } }));
      (buffer.draft as Any).n = 1 as never;
      commit(buffer, rows);
      const before = view(buffer);
      (buffer.draft as { a: { list: object[] } }).a.list[0] = { run: () => 1 };
      assert.throws(() => buffer.prepare(), {
        code: "STATE_INVALID",
        message: /^state\.a\.list\[0\]\.run \(a function\)/,
      });
      assert.equal(buffer.abandon(), true);
      assert.deepEqual(view(buffer), before);
    }
  });

  it("a stored state that was damaged is rejected with a clear error", () => {
    const damaged = [
      { whole: "{", changes: [] },
      { whole: '{"$":"bigint","v":"x"}', changes: [] },
      { whole: "{}", changes: ['[["=",["a","b"],1]]'] },
    ];
    for (const stored of damaged) {
      assert.throws(() => new StateBuffer(stored, () => ({})), { code: "STATE_INVALID", message: /cannot be read/ });
    }
  });

  it("a change that would make the state anything but plain data is rejected", () => {
    const buffer = new StateBuffer(undefined, () => ({ list: [1] }));
    const draft = buffer.draft as Any & { list: number[] };
    const refused = { code: "STATE_INVALID" };
    assert.throws(() => Object.freeze(draft), refused);
    assert.throws(() => Object.setPrototypeOf(draft, null), refused);
    assert.throws(() => Object.defineProperty(draft, "x", { get: () => 1 }), refused);
    assert.throws(() => Reflect.set(draft, Symbol("x"), 1), refused);
    assert.throws(() => {
      draft.list[5] = 1;
    }, refused);
    assert.throws(() => delete draft.list[0], refused);
    assert.throws(() => buffer.replace(5), refused);
  });

  it("the state can be replaced as a whole, cleared, and rolled back from both", () => {
    const rows = new Rows();
    const initial = () => ({ n: 0 });
    const buffer = new StateBuffer(undefined, initial);
    buffer.replace({ n: 5 });
    commit(buffer, rows);
    buffer.replace({ n: 6 });
    buffer.abandon();
    assert.deepEqual(view(buffer), ordered({ n: 5 }));
    buffer.clear(initial);
    (buffer.draft as { n: number }).n = 9;
    buffer.abandon();
    assert.deepEqual(view(buffer), ordered({ n: 5 }));
    buffer.clear(initial);
    assert.deepEqual(commit(buffer, rows), { kind: "clear" });
    assert.deepEqual(view(buffer), ordered({ n: 0 }));
    buffer.clear(initial);
    (buffer.draft as { n: number }).n = 9;
    assert.equal(commit(buffer, rows)?.kind, "whole");
    assert.deepEqual(view(buffer), ordered({ n: 9 }));
  });

  it("a rollback to a savepoint keeps the changes before it", () => {
    const buffer = new StateBuffer(undefined, () => ({
      filler: "x".repeat(5_000),
      list: [1],
      map: new Map([
        ["a", 1],
        ["b", 2],
      ]),
    }));
    const rows = new Rows();
    (buffer.draft as Any).start = 1 as never;
    commit(buffer, rows);
    const draft = buffer.draft as unknown as { list: number[]; map: Map<string, number>; start: number };
    draft.list.push(2);
    draft.map.delete("a");
    const savepoint = buffer.savepoint();
    draft.list.unshift(0);
    draft.map.set("a", 5);
    draft.start = 2;
    assert.equal(buffer.rollback(savepoint), true);
    commit(buffer, rows);
    const expected = ordered({ filler: "x".repeat(5_000), list: [1, 2], map: new Map([["b", 2]]), start: 1 });
    assert.deepEqual(view(buffer), expected);
    assert.deepEqual(view(new StateBuffer(rows.stored, () => ({}))), expected);
  });
});

describe("the limit of a state", () => {
  it("the limit of a state counts bytes, and appended changes together with the whole", () => {
    const MB = 1024 * 1024;
    const wide = new StateBuffer(undefined, () => ({}));
    wide.replace({ text: "\u20ac".repeat(6 * MB) });
    assert.throws(() => wide.prepare(), { code: "STATE_TOO_LARGE" });

    const rows = new Rows();
    const buffer = new StateBuffer(undefined, () => ({}));
    buffer.replace({ a: "x".repeat(10 * MB) });
    commit(buffer, rows);
    (buffer.draft as { b: string }).b = "y".repeat(5 * MB);
    assert.equal(commit(buffer, rows)?.kind, "change");
    (buffer.draft as { c: string }).c = "z".repeat(2 * MB);
    assert.throws(() => buffer.prepare(), { code: "STATE_TOO_LARGE" });
    assert.equal(buffer.abandon(), true);
    // A state that does not grow is written whole, which makes room again.
    (buffer.draft as { b: string }).b = "w".repeat(2 * MB);
    assert.equal(commit(buffer, rows)?.kind, "whole");
  });
});

function encode(value: unknown): string {
  const buffer = new StateBuffer(undefined, () => ({}));
  buffer.replace(value);
  const write = buffer.prepare();
  return write?.kind === "whole" ? write.data : "{}";
}

/** A plain copy of a draft. */
function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Date || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [plain(key), plain(item)]));
  if (value instanceof Set) return new Set([...value].map(plain));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}
