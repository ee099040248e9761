// The process of a contender, so that no compiled code or heap leaks into another contender's measurement. It
// creates the contender, measures on request, and ends with its parent.
import { fileURLToPath } from "node:url";
import type { Contender, Make, Measurement, Running, Settings } from "./case.ts";

export type Order = "run" | "close";
/** `value` answers "run"; being ready and being closed have none. */
export type Answer =
  | { readonly ok: true; readonly value?: Measurement }
  | { readonly ok: false; readonly message: string };

const [contender, settings] = JSON.parse(process.argv[2]!) as [Contender, Settings];

// The terminal sends Ctrl-C to all processes; the parent decides about the others.
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(1));
process.on("SIGTERM", () => process.exit(1));

let running: Running | undefined;
await answer(async () => {
  const module = (await import(fileURLToPath(new URL(contender.module, import.meta.url)))) as Record<string, Make>;
  const make = module[contender.make];
  if (make === undefined) throw new Error(`${contender.module} exports no ${contender.make}`);
  running = await make(settings);
});

process.on("message", async (order: Order) => {
  if (order === "run") {
    await answer(() => running!.run());
  } else {
    await answer(() => running!.close());
    process.exit();
  }
});

async function answer(work: () => Promise<unknown>): Promise<void> {
  let reply: Answer;
  try {
    const value = await work();
    reply = value === undefined ? { ok: true } : { ok: true, value: value as Measurement };
  } catch (error) {
    reply = { ok: false, message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  await new Promise((sent) => process.send!(reply, sent));
}
