// Three processes on one SQLite file run 200 workflows while they are killed and replaced (killing.ts).
import { test } from "node:test";
import { tempPlace } from "../support/two-stores.ts";
import { KILLING_TIMEOUT_MS, killWorkers } from "./killing.ts";

test("every workflow on SQLite ends as planned, however often its worker is killed", {
  timeout: KILLING_TIMEOUT_MS,
}, async (t) => {
  await using place = await tempPlace();
  await killWorkers(t, place, 200);
});
