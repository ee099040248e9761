// The smallest form of what the benchmark does, so that it cannot rot unnoticed.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Make, Settings } from "../case.ts";
import { drain, register as registerByHand } from "./floor-sqlite.ts";
import { onSqlite } from "./ours-drain.ts";
import { register } from "./ours-register.ts";

async function measured(make: Make, params: Settings["params"]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "limpet-bench-smoke-"));
  const running = await make({ durationMs: 5, warmupMs: 5, folder, postgres: "", quick: true, params });
  try {
    return (await running.run()) as number;
  } finally {
    await running.close();
    await rm(folder, { recursive: true, force: true });
  }
}

test("a small backlog is worked off by us and by hand, by one process and by two", async () => {
  for (const make of [onSqlite, drain]) {
    for (const processes of [1, 2]) assert.ok((await measured(make, { processes, quickCount: 200 })) > 0);
  }
});

test("some reminders are set by us and by hand", async () => {
  for (const make of [register, registerByHand]) assert.ok((await measured(make, { inFlight: 20 })) > 0);
});
