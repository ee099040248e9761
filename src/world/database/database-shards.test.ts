import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Prng } from "../../kernel/prng.ts";
import type { Store } from "../../ports/store/store.ts";
import { Ground, newTerm } from "../../stores/contract/shards-shared.contract.ts";
import { shardsContract } from "../../stores/shards.contract.ts";
import { Timeline } from "../timeline.ts";
import { Dummy, SelfRunning } from "../world-kit.test.ts";
import { Database, type DatabaseTroubles, NO_TROUBLES } from "./database.ts";

let places = 0;

shardsContract("virtual", async () => {
  const database = new Database(new SelfRunning(), new Prng("contract"));
  const open = async (): Promise<Store> => database.open(new Dummy(++places));
  const store = await open();
  return { store, second: open, reopen: open, dispose: () => store.close() };
});

/** A database on virtual time, a process that uses it, and the data as the database itself sees it. */
class Setting {
  readonly timeline = new Timeline();
  readonly database = new Database(this.timeline, new Prng(1));
  readonly it = new Ground(this.database.open(new Dummy(1)), "n");
  readonly truth = new Ground(this.database.truth, "n");

  troubles(troubles: Partial<DatabaseTroubles>): void {
    this.database.troubles = { ...NO_TROUBLES, ...troubles };
  }

  /** Lets time pass until the promise has settled. */
  async now<T>(asked: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    asked.then(over, over);
    await this.timeline.run(this.timeline.now + 60_000, () => isOver);
    assert.ok(isOver, "it was not answered");
    return asked;
  }

  /** All writes, and then all reads. */
  steps(term: number): [writes: (() => Promise<unknown>)[], reads: (() => Promise<unknown>)[]] {
    const { it } = this;
    return [
      [
        () => it.shards.settle(it.rule(3)),
        () => it.shards.noteHomes(term, [it.home(0, "a")]),
        () => it.remember(it.keep("x")),
        () => it.shards.reset("n", "Order"),
      ],
      [
        () => it.homes(),
        () => it.shards.remembered(it.shard(), undefined, 10),
        () => it.shards.rememberedShards("n", "Cart"),
      ],
    ];
  }
}

const unavailable = { name: "LimpetError", code: "STORE_UNAVAILABLE" };

describe("shards at a virtual database", () => {
  test("a shard request that fails before its effect has changed nothing", async () => {
    const setting = new Setting();
    const { truth } = setting;
    const term = await newTerm(truth.store);
    for (const trouble of [{ failsBefore: 1 }, { isDown: true }]) {
      setting.troubles(trouble);
      for (const step of setting.steps(term).flat()) await assert.rejects(setting.now(step()), unavailable);
    }
    assert.deepEqual(await truth.homes(), []);
    assert.deepEqual(await truth.ids(), []);
    assert.deepEqual(await truth.shards.settle(truth.rule(9)), truth.rule(9));
  });

  test("a shard write without a response is stored, and may be repeated", async () => {
    const setting = new Setting();
    const { it, truth } = setting;
    const term = await newTerm(truth.store);
    const [writes] = setting.steps(term);
    setting.troubles({ failsAfter: 1 });
    for (const step of writes) await assert.rejects(setting.now(step()), unavailable);
    assert.deepEqual(await truth.homes(), [it.home(0, "a")]);
    assert.deepEqual(await truth.ids(), ["x"]);
    setting.troubles({});
    for (const step of writes) await setting.now(step());
    assert.deepEqual(await truth.homes(), [it.home(0, "a")]);
    assert.deepEqual(await truth.ids(), ["x"]);
    assert.deepEqual(await setting.now(it.shards.settle(it.rule(4))), it.rule(3));
  });

  test("shards can be read while the disk is full", async () => {
    const setting = new Setting();
    const term = await newTerm(setting.truth.store);
    await setting.truth.remember(setting.it.keep("x"));
    const [writes, reads] = setting.steps(term);
    setting.troubles({ isReadOnly: true });
    for (const step of writes) await assert.rejects(setting.now(step()), unavailable);
    const read = await Promise.all(reads.map((step) => setting.now(step())));
    assert.deepEqual(read, [[], ["x"], [0]]);
  });

  test("homes that arrive after the next term has begun are not stored", async () => {
    const setting = new Setting();
    const { it, truth } = setting;
    const term = await newTerm(truth.store);
    const late = it.shards.noteHomes(term, [it.home(0, "a")]);
    await newTerm(truth.store);
    assert.equal(await setting.now(late), false);
    assert.deepEqual(await truth.homes(), []);
  });

  test("observers are notified of rules, homes and remembered actors before the response leaves", async () => {
    const setting = new Setting();
    const { it, truth } = setting;
    const observed: unknown[] = [];
    setting.database.watchers.push({
      ruled: (_, asked, settled) => observed.push([asked.shards, settled.shards]),
      notedHomes: (_, term, changes, isCurrent) => observed.push([term, changes.length, isCurrent]),
      remembered: (_, _home, changes, made) => observed.push(changes.map(({ id }, i) => [id, made[i]])),
      done: (_, question) => observed.push(question),
    });
    await truth.shards.settle(truth.rule(2));
    const term = await newTerm(truth.store);
    const [writes, reads] = setting.steps(term);
    for (const step of [...writes, ...reads]) await setting.now(step());
    await setting.now(it.shards.noteHomes(term + 1, []));
    assert.deepEqual(observed, [
      ...[
        [3, 2],
        "rule",
        [term, 1, true],
        "note homes",
        [["x", true]],
        "remember",
        "rule",
        "homes",
        "recall",
        "recall",
      ],
      ...[[term + 1, 0, false], "note homes"],
    ]);
  });
});
