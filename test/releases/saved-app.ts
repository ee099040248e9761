// The application whose stores are saved at each release: one of everything that a store can hold. The stores
// of earlier releases were written by this code as it was then, so a type or workflow may gain methods and
// must not change its stored form.
import { Actor, type ActorOptions, type LimpetOptions, limpet, sharded, signal, workflow } from "../../src/index.ts";

const KEPT_LINES = 400;

/** A small state, kept in the row of its actor. */
export class Purse extends Actor<{ coins: number; reminded: string[] }> {
  static options = { name: "Purse" } satisfies ActorOptions;
  initial() {
    return { coins: 0, reminded: [] as string[] };
  }
  add(coins: number): number {
    this.state.coins += coins;
    return this.state.coins;
  }
  async remind(name: string, due: string): Promise<void> {
    await this.reminders.set(name, { due, data: { name } });
  }
  reminded(): string[] {
    return this.state.reminded;
  }
  override onReminder(name: string): void {
    if (name === "always-fails") throw new TypeError("this reminder always fails");
    this.state.reminded.push(name);
  }
}

/** A large state, kept apart from the row of its actor, with changes after it. */
export class Diary extends Actor<{ lines: string[]; kept: Map<string, Date> }> {
  static options = { name: "Diary" } satisfies ActorOptions;
  initial() {
    return { lines: [] as string[], kept: new Map<string, Date>() };
  }
  fill(): number {
    for (let line = 0; line < KEPT_LINES; line++) this.state.lines.push(`line ${line} of a diary that is long enough`);
    this.state.kept.set("since", new Date(0));
    return this.state.lines.length;
  }
  write(line: string): number {
    return this.state.lines.push(line);
  }
  read(): { lines: number; last: string | undefined; since: Date | undefined } {
    return { lines: this.state.lines.length, last: this.state.lines.at(-1), since: this.state.kept.get("since") };
  }
}

/** Lives in shards and is remembered. */
export class Lamp extends Actor<{ lit: number }> {
  static options = { name: "Lamp", placement: sharded({ shards: 10, remember: true }) } satisfies ActorOptions;
  initial() {
    return { lit: 0 };
  }
  light(): number {
    this.state.lit += 1;
    return this.state.lit;
  }
  lit(): number {
    return this.state.lit;
  }
}

/** Lives in shards whose homes an operator assigns. */
export class Beacon extends Actor<{ seen: number }> {
  static options = { name: "Beacon", placement: sharded({ shards: 4, strategy: "told" }) } satisfies ActorOptions;
  initial() {
    return { seen: 0 };
  }
  see(): number {
    this.state.seen += 1;
    return this.state.seen;
  }
}

export const approved = signal<string>("approved");

export const approval = workflow("approval", async (ctx, amount: number) => {
  const receipt = await ctx.activity("double", amount);
  const by = await ctx.signal(approved, { within: "30000d" });
  return { receipt, by: by ?? null };
});

export const nap = workflow("nap", async (ctx, minutes: number) => {
  await ctx.sleep(`${minutes}m`);
  return "rested";
});

export const quick = workflow("quick", async (ctx, amount: number) => ctx.activity("double", amount));

export const failing = workflow("failing", async (): Promise<void> => {
  throw new TypeError("this workflow always fails");
});

export const savedApp = (store: string, options: LimpetOptions = {}) =>
  limpet({
    actors: [Purse, Diary, Lamp, Beacon],
    workflows: [approval, nap, quick, failing],
    activities: { double: (amount: number) => amount * 2 },
    store,
    logLevel: "error",
    cluster: { name: "saver" },
    ...options,
  });
