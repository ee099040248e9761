// Workflows that ask for more than is good for anybody, beside ordinary ones (errands.ts).
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { workflow } from "../../src/index.ts";
import { errand, activities as ordinary } from "./errands.ts";

export { actors } from "./errands.ts";

/** Hears so many numbers, and gives them in the order in which it heard them. */
export const listener = workflow("listener", async (ctx, count: number): Promise<number[]> => {
  const heard: number[] = [];
  ctx.onSignal("number", (number: number) => heard.push(number));
  ctx.onQuery("heard", () => heard.length);
  await ctx.condition(() => heard.length >= count);
  return heard;
});

/** Notes so many things in one go, and once more whenever it is told to. */
export const hoarder = workflow("hoarder", async (ctx, count: number): Promise<number> => {
  for (let i = 0; i < count; i++) ctx.sideEffect(() => i);
  await ctx.signal("more");
  for (let i = 0; i < count; i++) ctx.sideEffect(() => i);
  await ctx.signal("more");
  return count;
});

const makeText = async (bytes: number): Promise<string> => "x".repeat(bytes);

/** Has an activity whose result is so long. */
export const collector = workflow("collector", async (ctx, bytes: number): Promise<string> => {
  try {
    return `${(await ctx.activity(makeText, bytes, { retry: { attempts: 1 } })).length}`;
  } catch (error) {
    const { code, cause } = error as { code: string; cause?: { code?: string; message?: string } };
    return `${code} ${cause?.code} ${cause?.message}`;
  }
});

/** Looks at a file, and so does something else when its code runs again, wherever that is. */
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
