// What tests of faults share: a run that must not notice anything of them, and ways to look at those that do.
import assert from "node:assert/strict";
import { isLimpetError, type LimpetError } from "../kernel/errors.ts";
import type { TestApp } from "../testing.ts";
import type { WorkflowHandle } from "../workflows/client.ts";
import { signal, workflow } from "../workflows/definition.ts";

export const NAMESPACE = "default";
export const go = signal<unknown>("go");

export const hasCode =
  (code: LimpetError["code"], about = /./) =>
  (error: unknown): boolean =>
    isLimpetError(error, code) && about.test(error.message);

/** Another run that must not notice anything. */
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
