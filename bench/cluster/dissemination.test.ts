import assert from "node:assert/strict";
import { test } from "node:test";
import type { Make, Params, Settings } from "../case.ts";
import { join as oneLock } from "./comparison.ts";
import { BYTES_SENT, LOCKED, TIME_TO_UNLOCK } from "./figures.ts";
import { join as ours } from "./ours-dissemination.ts";

async function measured(make: Make, params: Params): Promise<Record<string, number>> {
  const settings: Settings = { durationMs: 0, warmupMs: 0, folder: "", postgres: "", quick: true, params };
  const running = await make(settings);
  return (await running.run()) as Record<string, number>;
}

test("a join ends with an UNLOCK at every host, with both protocols", async () => {
  for (const make of [ours, oneLock]) {
    for (const joinsWith of ["one", "all"]) {
      const figures = await measured(make, { hosts: 5, types: 3, joinsWith });
      assert.deepEqual(Object.keys(figures), [TIME_TO_UNLOCK, LOCKED, BYTES_SENT]);
      for (const figure of Object.values(figures)) assert.ok(figure > 0);
    }
  }
});

test("one lock for all types sends all of them when one of many changes", async () => {
  const params = { hosts: 20, types: 10, joinsWith: "one" };
  const [few, many] = [await measured(ours, params), await measured(oneLock, params)];
  assert.ok(few[BYTES_SENT]! * 1.5 < many[BYTES_SENT]!, `${few[BYTES_SENT]} of ${many[BYTES_SENT]} bytes`);
});
