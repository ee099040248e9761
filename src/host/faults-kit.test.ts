// Helpers for tests of faults: a run that must not notice any fault, and checks of the runs that do.
import assert from "node:assert/strict";
import { isLimpetError, type LimpetError } from "../kernel/errors.ts";
import { replaceMethods } from "../ports/store/intercept.ts";
import type { Store } from "../ports/store/store.ts";
import type { Workflows } from "../ports/store/workflows.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import type { TestApp } from "../testing.ts";
import type { WorkflowHandle } from "../workflows/client/client.ts";
import { signal, workflow } from "../workflows/definition/definition.ts";
import type { VirtualClock } from "../world/virtual-clock.ts";

export const NAMESPACE = "default";
export const go = signal<unknown>("go");

export const hasCode =
  (code: LimpetError["code"], about = /./) =>
  (error: unknown): boolean =>
    isLimpetError(error, code) && about.test(error.message);

/** Another run, which must not notice any fault. */
export const healthy = workflow("healthy", async (ctx) => {
  await ctx.activity("step");
  await ctx.sleep("1m");
  return "well";
});
export const step = async (): Promise<string> => "done";

export async function isWell(app: TestApp): Promise<void> {
  const handle = await app.workflows.start(healthy, { input: undefined });
  await app.advance("2m");
  assert.equal(await handle.result(), "well");
}

export const blockedBy = async (handle: WorkflowHandle<unknown>): Promise<string> =>
  String((await handle.describe()).blocked);

/** A store with changed methods of its workflows. */
export function storeWith(clock: VirtualClock, changes: (workflows: Workflows) => Partial<Workflows>): Store {
  const store = new MemoryStore(() => clock.now());
  return replaceMethods<Store>(store, { workflows: replaceMethods(store.workflows, changes(store.workflows)) });
}
