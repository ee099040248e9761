// A workflow whose code ends its process, beside ordinary ones (errands.ts).
import { workflow } from "../../src/index.ts";
import { errand } from "./errands.ts";

export { activities, actors } from "./errands.ts";

export const EXIT_CODE = 7;

/** Its first step ends the process. */
export const deadly = workflow("deadly", async (ctx): Promise<void> => {
  ctx.onQuery("progress", () => "never");
  process.exit(EXIT_CODE);
});

export const workflows = [errand, deadly];
