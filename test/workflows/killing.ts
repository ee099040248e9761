// kill -9 of processes that run workflows, at random moments, while others take their place. Every run ends
// with the result of its plan, no history has a gap, every activity ran at least once, and entries in the
// state of actors are there once.
// ERRANDS=3000 KILLS=20 makes it longer.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { isLimpetError } from "../../src/index.ts";
import { ProcessDied } from "../support/host-process.ts";
import { type Dice, dice } from "../support/seed.ts";
import type { Place } from "../support/two-stores.ts";
import { errand, outcomeOf, type Plan, type Thing, thingsOf } from "./errands.ts";
import { Workshop } from "./workshop.ts";

const PROCESSES = 3;
const KILLS = Number(process.env.KILLS ?? 4);
/** Kills happen in this part of the work. */
const FIRST_KILL = 0.1;
const LAST_KILL = 0.7;
const BOOKS = 20;
const MOST_THINGS = 6;
/** An actor sends every n-th errand, in its turn. */
const SENT_BY_ACTOR = 5;

export const KILLING_TIMEOUT_MS = 300_000;

interface Sent {
  readonly id: string;
  readonly plan: Plan;
  readonly words: readonly string[];
  readonly updates: number;
}

/** A random plan. `depth`: levels of nesting. */
export function somePlan(id: string, chance: Dice, depth = 2): Plan {
  let number = 0;
  const key = (): string => `${id}/${number++}`;
  const some = (): Thing => {
    switch (chance.below(depth > 0 ? 11 : 6)) {
      case 0:
        return { do: "flaky", key: key() };
      case 1:
        return { do: "sleep", ms: 20 + chance.below(400) };
      case 2:
        return { do: "enter", book: `${chance.below(BOOKS)}`, key: key() };
      case 6:
      case 7:
        return { do: "listen" };
      case 8:
        return { do: "child", plan: somePlan(key(), chance, 0) };
      case 9:
        return { do: "all", things: Array.from({ length: 2 + chance.below(3) }, () => leaf()) };
      case 10:
        return depth === 2 ? { do: "anew" } : leaf();
      default:
        return { do: "activity", key: key(), ms: chance.below(30) };
    }
  };
  const leaf = (): Thing => {
    const thing = some();
    // The order of several listeners must not matter; a part of a group must not continue as new.
    return thing.do === "anew" || thing.do === "all" ? { do: "activity", key: key() } : thing;
  };
  return Array.from({ length: 1 + chance.below(MOST_THINGS) }, () => some());
}

function someErrand(number: number, chance: Dice): Sent {
  const id = `errand-${number}`;
  const plan = somePlan(id, chance);
  const listens = thingsOf(plan).filter((thing) => thing.do === "listen").length;
  const words = Array.from({ length: listens }, (_, i) => `${id} word ${i}`);
  const isOneRun = !plan.some((thing) => thing.do === "anew");
  const updates = isOneRun && chance.below(4) === 0 ? 2 : 0;
  return { id, plan: updates > 0 ? [...plan, { do: "updates", count: updates }] : plan, words, updates };
}

export async function killWorkers(t: TestContext, place: Place, usually: number): Promise<void> {
  const chance = dice(t);
  const count = Number(process.env.ERRANDS ?? usually);
  await using shop = await Workshop.open(t, place, { lease: "2s", pollInterval: "200ms" });
  await shop.startAll(Array.from({ length: PROCESSES }, (_, i) => `first ${i}`));
  await runErrands(t, shop, chance, count, async (untilOver) => {
    for (let kill = 0; kill < KILLS; kill++) {
      const part = (kill + chance.below(100) / 100) / KILLS;
      await untilOver(count * (FIRST_KILL + (LAST_KILL - FIRST_KILL) * part));
      const { alive } = shop;
      const victim = alive[chance.below(alive.length)]!;
      await victim.kill();
      await shop.start(`${victim.name}'`);
    }
  });
  t.diagnostic(`${KILLS} kills`);
  shop.finish();
}

/** Waits until so many of them are over. */
type UntilOver = (least: number) => Promise<void>;

/** Runs so many errands to their end, under all faults, and checks all results. */
export async function runErrands(
  t: TestContext,
  shop: Workshop,
  chance: Dice,
  count: number,
  meanwhile: (untilOver: UntilOver) => Promise<void>,
): Promise<void> {
  const all = Array.from({ length: count }, (_, i) => someErrand(i, chance));
  const ends = all.map((one, i) => seeThrough(shop, one, i % SENT_BY_ACTOR === 0));
  const results = Promise.all(ends);
  let over = 0;
  let failure: unknown;
  results.catch((error) => {
    failure = error;
  });
  for (const end of ends) end.then(() => over++).catch(() => {});
  const untilOver: UntilOver = (least) =>
    shop.until(() => {
      if (failure !== undefined) throw failure;
      return over >= least;
    }, `${least} are over`);
  await meanwhile(untilOver);
  await untilOver(count);
  for (const [i, result] of (await results).entries()) {
    const { id, plan, words } = all[i]!;
    assert.deepEqual(result, outcomeOf(plan, words), id);
  }
  assert.equal(await shop.openRuns(), 0, "children are over as well");
  await checkAll(t, shop, all);
}

/** Starts it, sends its signals, and waits for its result. */
async function seeThrough(shop: Workshop, { id, plan, words, updates }: Sent, isByActor: boolean): Promise<string[]> {
  const { workflows } = shop.app;
  if (isByActor) await sendByActor(shop, id, plan);
  else await workflows.start(errand, { id, input: { plan } });
  const handle = workflows.get(errand, id);
  for (const word of words) await handle.signal("word", word);
  for (let i = 0; i < updates; i++) {
    const key = `${id}/update ${i}`;
    assert.equal(await persistently(() => handle.update("tell", key)), `activity ${key}`);
  }
  return persistently(() => handle.result());
}

/** Retries after a definite failure and while the store is away. */
async function persistently<Value>(ask: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isLimpetError(error) || error.retry !== "later") throw error;
      await pause(50);
    }
  }
}

/** Through any running process: the actor knows whether it has done it. */
async function sendByActor(shop: Workshop, id: string, plan: Plan): Promise<void> {
  for (;;) {
    const { alive } = shop;
    try {
      await alive[id.length % alive.length]!.call("Book", `sender of ${id}`, "send", [id, { plan }]);
      return;
    } catch (error) {
      if (!(error instanceof ProcessDied) && (error as { retry?: string }).retry === "never") throw error;
      await pause(50);
    }
  }
}

async function checkAll(t: TestContext, shop: Workshop, all: readonly Sent[]): Promise<void> {
  const { runs, events } = await shop.checkHistories();
  const things = all.flatMap(({ plan }) => thingsOf(plan));

  const attempts = await shop.attempts();
  const ended = Map.groupBy(
    attempts.filter(({ kind }) => kind === "end"),
    ({ key }) => key,
  );
  const wanted = new Set<string>();
  for (const thing of things) if (thing.do === "activity" || thing.do === "flaky") wanted.add(thing.key);
  for (const { id, updates } of all) for (let i = 0; i < updates; i++) wanted.add(`${id}/update ${i}`);
  assert.deepEqual([...wanted.difference(ended)], [], "these never ran");
  assert.deepEqual([...new Set(ended.keys()).difference(wanted)], [], "nobody asked for these");

  const entered = new Map<string, string[]>();
  for (const thing of things)
    if (thing.do === "enter") entered.set(thing.book, [...(entered.get(thing.book) ?? []), thing.key]);
  let repeated = 0;
  for (const [book, keys] of entered) {
    const entries = await shop.book(book);
    assert.deepEqual(entries.entries.sort(), keys.sort(), `book ${book}: each entry once`);
    repeated += entries.repeated;
  }
  const flaky = new Set(things.flatMap((thing) => (thing.do === "flaky" ? [thing.key] : [])));
  const again = [...ended].filter(([key, times]) => times.length > (flaky.has(key) ? 2 : 1));
  t.diagnostic(
    `${all.length} errands in ${runs} runs with ${events} events; ${wanted.size} activities, ${again.length} of them done again; ` +
      `${repeated} entries were made again and did not count`,
  );
}
