// The callers of a run: they make the planned calls and record the outcomes.
import type { AnyActor, CallSettings } from "../src/actors/routing/remote.ts";
import type { App } from "../src/host/app.ts";
import type { Process } from "../src/world/process.ts";
import { KIND } from "../src/world/timeline.ts";
import type { Operation } from "./observer.ts";
import type { CallHow, PlannedCall } from "./plan.ts";
import { optionsOf } from "./reminding.ts";
import type { Stage } from "./stage.ts";

type Methods = Record<string, (op: string, how: CallHow) => Promise<unknown>>;

/** Schedules every call of the plan. A host that is down makes no calls. */
export function planCalls(stage: Stage): void {
  for (const [i, call] of stage.plan.calls.entries()) {
    stage.world.timeline.plan(call.at, KIND.script, undefined, () => void makeCall(stage, call, `${i}`));
  }
}

/** Resolves when the caller knows the outcome, or has ended. Never rejects. */
export async function makeCall(stage: Stage, call: PlannedCall, name: string): Promise<Operation | undefined> {
  const { planned, host } = stage.player(call.from);
  const { process } = host;
  if (process?.app === undefined || !process.isAwake) return undefined;
  const token = `${planned.namespace}:${name}`;
  const operation: Operation = {
    token,
    call,
    namespace: planned.namespace,
    process,
    beganAt: stage.now,
    endedAt: undefined,
    outcome: undefined,
  };
  stage.operations.push(operation);
  for (const one of stage.observers) one.asked?.(operation);
  const giveUp = call.how.cancelMs === undefined ? undefined : new AbortController();
  if (giveUp !== undefined) process.clock.after(call.how.cancelMs!, () => giveUp.abort());
  const settings = { timeout: call.timeoutMs, signal: giveUp?.signal };
  const ended = Promise.withResolvers<undefined>();
  process.onEnd.add(() => ended.resolve(undefined));
  const outcome = await Promise.race([
    ended.promise,
    Promise.resolve()
      .then(() =>
        call.how.outside ? changeReminder(process.app!, call, token) : callActor(process, call, token, settings),
      )
      .then(
        (value: unknown) => ({ value }),
        (error: unknown) => ({ error }),
      ),
  ]);
  if (outcome === undefined) return operation;
  operation.outcome = outcome;
  operation.endedAt = stage.now;
  stage.world.timeline.noteText("error" in outcome ? String((outcome.error as Error).message) : String(outcome.value));
  for (const one of stage.observers) one.answered?.(operation);
  return operation;
}

function callActor(process: Process, call: PlannedCall, token: string, settings: CallSettings): Promise<unknown> {
  const { type, id, method, how } = call;
  const app = process.app!;
  if (how.region === undefined) return (app.actor<AnyActor>(type, id, settings) as Methods)[method]!(token, how);
  // Only a host that has the class can find the id in a message.
  const isKnown = app.host.types().some((one) => one.type === type);
  const message = how.region === "carried" && isKnown ? { crate: id, op: token } : { id, message: token };
  const region = app.region(type, settings) as unknown as Record<
    string,
    (message: object, how: CallHow) => Promise<unknown>
  >;
  return region[method]!(message, how);
}

/** Changes a reminder through the client, without a turn of its actor. */
async function changeReminder({ reminders }: App, { type, id, how }: PlannedCall, token: string): Promise<string> {
  const { remind, forget } = how;
  if (remind !== undefined) await reminders.set(type, id, remind.name, optionsOf(token, remind));
  if (forget !== undefined) await reminders.cancel(type, id, forget);
  return token;
}
