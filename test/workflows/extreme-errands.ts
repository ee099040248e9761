// Workflows at and beyond the limits, beside ordinary ones (errands.ts).
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { workflow } from "../../src/index.ts";
import { errand, activities as ordinary } from "./errands.ts";

export { actors } from "./errands.ts";

/** Receives so many numbers, and returns them in the order of their arrival. */
export const listener = workflow("listener", async (ctx, count: number): Promise<number[]> => {
  const received: number[] = [];
  ctx.onSignal("number", (number: number) => received.push(number));
  ctx.onQuery("heard", () => received.length);
  await ctx.condition(() => received.length >= count);
  return received;
});

/** Records so many things at once, and again at each signal. */
export const hoarder = workflow("hoarder", async (ctx, count: number): Promise<number> => {
  for (let i = 0; i < count; i++) ctx.sideEffect(() => i);
  await ctx.signal("more");
  for (let i = 0; i < count; i++) ctx.sideEffect(() => i);
  await ctx.signal("more");
  return count;
});

const makeText = async (bytes: number): Promise<string> => "x".repeat(bytes);

/** Has an activity with a result of this length. */
export const collector = workflow("collector", async (ctx, bytes: number): Promise<string> => {
  try {
    return `${(await ctx.activity(makeText, bytes, { retry: { attempts: 1 } })).length}`;
  } catch (error) {
    const { code, cause } = error as { code: string; cause?: { code?: string; message?: string } };
    return `${code} ${cause?.code} ${cause?.message}`;
  }
});

/** Reads a file, and so issues other commands when its code runs again, on any worker. */
export const poison = workflow("poison", async (ctx, key: string): Promise<void> => {
  const mark = join(process.cwd(), `${key}.mark`);
  if (existsSync(mark)) await ctx.sleep("1h");
  writeFileSync(mark, "");
  await ctx.activity(ordinary.act, { key: `${key}/begin` });
  await ctx.signal("word");
  await ctx.activity(ordinary.act, { key: `${key}/end` });
});

export const activities = { ...ordinary, makeText };
export const workflows = [errand, listener, hoarder, collector, poison];
