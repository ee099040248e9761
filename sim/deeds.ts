// The clients of workflows in a run: they start, signal, query and cancel workflows as planned, and record
// the outcomes.
import type { App } from "../src/host/app.ts";
import { KIND } from "../src/world/timeline.ts";
import type { DeedOperation } from "./observer.ts";
import type { PlannedDeed } from "./plan.ts";
import { type PokeInput, SCRIPT_TYPES, type ScriptInput } from "./scripts.ts";
import type { Stage } from "./stage.ts";

/** A client that waits for the end of a workflow or for an update gives up after this time. */
const WAIT_MS = 60_000;

/** Schedules every workflow operation of the plan. A host that is down performs none. */
export function planDeeds(stage: Stage): void {
  for (const [i, deed] of (stage.plan.deeds ?? []).entries()) {
    stage.world.timeline.plan(deed.at, KIND.script, undefined, () => void doDeed(stage, deed, `w${i}`));
  }
}

/** Resolves when the client knows the outcome, or has ended. Never rejects. */
export async function doDeed(stage: Stage, planned: PlannedDeed, name: string): Promise<DeedOperation | undefined> {
  const player = stage.player(planned.from);
  const { process } = player.host;
  if (process?.app === undefined || !process.isAwake) return undefined;
  const { namespace } = player.planned;
  const operation: DeedOperation = {
    token: `${namespace}:${name}`,
    planned,
    namespace,
    process,
    beganAt: stage.now,
    acceptedAt: undefined,
    runId: undefined,
    endedAt: undefined,
    outcome: undefined,
  };
  stage.deeds.push(operation);
  const ended = Promise.withResolvers<undefined>();
  const end = (): void => ended.resolve(undefined);
  process.onEnd.add(end);
  const outcome = await Promise.race([
    ended.promise,
    Promise.resolve()
      .then(() => perform(stage, process.app!, operation))
      .then(
        (value: unknown) => ({ value }),
        (error: unknown) => ({ error }),
      ),
  ]);
  process.onEnd.delete(end);
  if (outcome === undefined) return operation;
  operation.outcome = outcome;
  operation.endedAt = stage.now;
  stage.world.timeline.noteText("error" in outcome ? String((outcome.error as Error).message) : String(outcome.value));
  for (const one of stage.observers) one.didDeed?.(operation);
  return operation;
}

async function perform(stage: Stage, { workflows }: App, operation: DeedOperation): Promise<unknown> {
  const { token, process } = operation;
  const { workflow: id, deed } = operation.planned;
  switch (deed.kind) {
    case "start": {
      const { steps, cleans, ifRunning, ifEnded, build, delayMs, timeoutMs, waits } = deed;
      const input: ScriptInput = { word: token, steps, ...(cleans ? { cleans } : {}) };
      const options = { id, input, ifRunning, ifEnded, build, delay: delayMs, timeout: timeoutMs };
      const handle = await workflows.start<string[]>(SCRIPT_TYPES[0], options);
      operation.acceptedAt = stage.now;
      operation.runId = handle.runId;
      return waits ? handle.result({ timeout: WAIT_MS }) : handle.runId;
    }
    case "signal":
      await workflows.get(id).signal(deed.name, token);
      operation.acceptedAt = stage.now;
      return token;
    case "update": {
      const { ms, isRefused = false } = deed;
      const givesUp = new AbortController();
      const timer = process.clock.after(WAIT_MS, () => givesUp.abort(new Error("given up")));
      const input: PokeInput = { word: token, ms, isRefused };
      return workflows
        .get(id)
        .update("poke", input, { id: token, signal: givesUp.signal })
        .finally(() => timer.cancel());
    }
    case "query":
      return workflows.get(id).query("seen");
    case "cancel":
      await workflows.get(id).cancel(token);
      operation.acceptedAt = stage.now;
      return token;
    case "terminate":
      await workflows.get(id).terminate(token);
      operation.acceptedAt = stage.now;
      return token;
    case "result":
      return workflows.get(id).result({ timeout: WAIT_MS });
  }
}
