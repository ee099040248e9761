// Four processes on one SQLite file deliver 4,000 reminders while they are killed and replaced (killing.ts).
import { test } from "node:test";
import { tempPlace } from "../support/two-stores.ts";
import { KILLING_TIMEOUT_MS, killProcesses } from "./killing.ts";

test("every reminder on SQLite fires, none early, and only those hit by a kill fire twice", {
  timeout: KILLING_TIMEOUT_MS,
}, async (t) => {
  await using place = await tempPlace();
  await killProcesses(t, place, 4_000);
});
