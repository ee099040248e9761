import assert from "node:assert/strict";
import { test } from "node:test";
import { measured } from "../smoke.ts";
import { drain, register as registerByHand } from "./floor/sqlite.ts";
import { onSqlite } from "./ours-drain.ts";
import { register } from "./ours-register.ts";

test("a small backlog is drained by us and by the floor, by one process and by two", async () => {
  for (const make of [onSqlite, drain]) {
    for (const processes of [1, 2]) assert.ok(((await measured(make, { processes, quickCount: 200 })) as number) > 0);
  }
});

test("some reminders are set by us and by the floor", async () => {
  for (const make of [register, registerByHand]) {
    assert.ok(((await measured(make, { inFlight: 20 })) as number) > 0);
  }
});
