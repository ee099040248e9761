// Limpet: turns that change state and are committed before their answer. After a measurement, another Limpet
// opens the same store and must find every answered turn.
import { join } from "node:path";
import { Actor, limpet } from "../../src/index.ts";
import type { Make, Settings } from "../case.ts";
import { eachOnce, repeat } from "../load.ts";

class Counter extends Actor<{ n: number }> {
  override initial() {
    return { n: 0 };
  }
  increment(): number {
    return ++this.state.n;
  }
  value(): number {
    return this.state.n;
  }
}

class Table extends Actor<{ cells: Record<string, number> }> {
  override initial() {
    return { cells: {} };
  }
  fill(keys: number): void {
    for (let i = 0; i < keys; i++) this.state.cells[`key-${i}`] = 0;
  }
  increment(key: string): number {
    const next = this.state.cells[key]! + 1;
    this.state.cells[key] = next;
    return next;
  }
  sum(): number {
    return Object.values(this.state.cells).reduce((sum, value) => sum + value, 0);
  }
}

const open = (store: string, maxResident: number) => limpet({ actors: [Counter, Table], store, maxResident });
type App = Awaited<ReturnType<typeof open>>;

const storeOf = ({ postgres, folder }: Settings) => postgres || join(folder, "ours.db");

/** Stops the app and checks the stored state. */
async function closeAndCheck(
  app: App,
  settings: Settings,
  turns: number,
  sum: (app: App) => Promise<number>,
): Promise<void> {
  await app.stop();
  const again = await open(storeOf(settings), 10_000);
  const found = await sum(again);
  await again.stop();
  if (found !== turns) throw new Error(`${turns} turns were answered, but ${found} are stored`);
}

async function sumOf(count: number, one: (index: number) => Promise<number>): Promise<number> {
  let sum = 0;
  await eachOnce(count, 256, async (index) => {
    const value = await one(index);
    sum += value;
  });
  return sum;
}

/** `inFlight` callers take `actors` counters in turn. */
export const turns: Make = async (settings) => {
  const { durationMs, warmupMs, params } = settings;
  const [actors, inFlight] = [Number(params.actors), Number(params.inFlight)];
  const app = await open(storeOf(settings), 10_000);
  const counters = Array.from({ length: actors }, (_, i) => app.actor(Counter, `counter-${i}`));
  let total = 0;
  const measure = async (ms: number) => {
    const { done, rate } = await repeat((call) => counters[call % actors]!.increment(), inFlight, ms);
    total += done;
    return rate;
  };
  await measure(warmupMs);
  return {
    run: () => measure(durationMs),
    close: () =>
      closeAndCheck(app, settings, total, (again) =>
        sumOf(actors, (i) => again.actor(Counter, `counter-${i}`).value()),
      ),
  };
};

/** First calls to actors without earlier calls. */
export const activations: Make = async (settings) => {
  const { params, quick } = settings;
  const count = Number(quick ? params.quickActors : params.actors);
  const app = await open(storeOf(settings), 2_000_000);
  let total = 0;
  const measure = async (actors: number) => {
    const first = total;
    const rate = await eachOnce(actors, Number(params.inFlight), (i) =>
      app.actor(Counter, `actor-${first + i}`).increment(),
    );
    total += actors;
    return rate;
  };
  await measure(2_000);
  return {
    run: () => measure(count),
    close: () =>
      closeAndCheck(app, settings, total, (again) => sumOf(total, (i) => again.actor(Counter, `actor-${i}`).value())),
  };
};

/** Turns that change one key of a state of `keys` keys. */
export const turnsOnLargeState: Make = async (settings) => {
  const { durationMs, warmupMs, params } = settings;
  const [actors, keys] = [Number(params.actors), Number(params.keys)];
  const app = await open(storeOf(settings), 10_000);
  const tables = Array.from({ length: actors }, (_, i) => app.actor(Table, `table-${i}`));
  for (const table of tables) await table.fill(keys);
  let total = 0;
  const measure = async (ms: number) => {
    const { done, rate } = await repeat((call) => tables[call % actors]!.increment(`key-${call % keys}`), actors, ms);
    total += done;
    return rate;
  };
  await measure(warmupMs);
  return {
    run: () => measure(durationMs),
    close: () =>
      closeAndCheck(app, settings, total, (again) => sumOf(actors, (i) => again.actor(Table, `table-${i}`).sum())),
  };
};
