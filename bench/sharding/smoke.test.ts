import assert from "node:assert/strict";
import { test } from "node:test";
import { measured } from "../smoke.ts";
import { ALLOCATIONS, WITH_STATE } from "./figures.ts";
import { homes } from "./ours-homes.ts";
import { take } from "./ours-take.ts";

test("some shards are requested and get their homes", async () => {
  const figures = (await measured(homes, { hosts: 2, shards: 50 }, true)) as Record<string, number>;
  assert.ok(figures[ALLOCATIONS]! > 0);
});

test("some actors are taken with their states", async () => {
  const figures = (await measured(take, { actors: 10, bytes: 100 }, true)) as Record<string, number>;
  assert.ok(figures[WITH_STATE]! > 0);
});
