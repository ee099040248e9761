// The smallest form of each benchmark, so that none breaks unnoticed.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Make, Measurement, Settings } from "./case.ts";

/** Measures for a moment, in this process. `wantsDatabase`: it gets a SQLite file instead of PostgreSQL. */
export async function measured(make: Make, params: Settings["params"], wantsDatabase = false): Promise<Measurement> {
  const folder = await mkdtemp(join(tmpdir(), "limpet-bench-smoke-"));
  const postgres = wantsDatabase ? join(folder, "instead.db") : "";
  const running = await make({ durationMs: 5, warmupMs: 5, folder, postgres, quick: true, params });
  try {
    return await running.run();
  } finally {
    await running.close();
    await rm(folder, { recursive: true, force: true });
  }
}
