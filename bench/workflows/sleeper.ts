// A workflow that sleeps until a given time, and its wake-up.
import { type App, limpet, workflow } from "../../src/index.ts";

export interface Night {
  readonly item: number;
  /** Milliseconds since 1970. */
  readonly until: number;
}

let onAwake: (item: number) => void = () => {};
export const whenAwake = (listener: (item: number) => void): void => {
  onAwake = listener;
};

export const sleeper = workflow("sleeper", async (ctx, { item, until }: Night) => {
  await ctx.until(new Date(until));
  onAwake(item);
});

export const openSleepers = (store: string): Promise<App> => limpet({ workflows: [sleeper], store });
