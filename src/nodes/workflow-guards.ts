// Inside a workflow the clock, the dice, timers and the network of the process are out of bounds: what they give is not in the history,
// so a replay would go another way. These guards say so at the place where it happens. They look at nothing but who asks; code outside
// of workflows gets what it always got, and so does a side effect, which is recorded.
import { LimpetError } from "../kernel/errors.ts";
import { inside } from "../workflows/inside.ts";

function refuse(what: string, instead: string): void {
  const where = inside();
  if (where === undefined || where.isRecorded === true) return;
  throw new LimpetError("WORKFLOW_MISUSED", `${what} inside of workflow ${where.workflow}: ${instead}`);
}

type Target = Record<string, (...args: unknown[]) => unknown>;

function guard(target: object, name: string, shown: string, instead: string): void {
  const original = (target as Target)[name];
  if (typeof original !== "function") return;
  const guarded = function (this: unknown, ...args: unknown[]): unknown {
    refuse(shown, instead);
    return original.apply(this, args);
  };
  // Some of them carry more than a call: setTimeout knows its promise form.
  Object.defineProperties(guarded, Object.getOwnPropertyDescriptors(original));
  Object.defineProperty(target, name, { value: guarded, writable: true, configurable: true, enumerable: false });
}

let isInstalled = false;

/** Once per process; from then on they stay. */
export function installGuards(): void {
  if (isInstalled) return;
  isInstalled = true;
  const clock = "use ctx.now()";
  const RealDate = Date;
  guard(RealDate, "now", "Date.now()", clock);
  globalThis.Date = new Proxy(RealDate, {
    construct(target, args, newTarget) {
      if (args.length === 0) refuse("new Date()", clock);
      return Reflect.construct(target, args, newTarget) as Date;
    },
    apply(target, self, args) {
      refuse("Date()", clock);
      return Reflect.apply(target, self, args) as string;
    },
  });
  guard(Math, "random", "Math.random()", "use ctx.random()");
  guard(performance, "now", "performance.now()", clock);
  for (const name of ["randomUUID", "getRandomValues"]) {
    guard(
      Object.getPrototypeOf(globalThis.crypto) as object,
      name,
      `crypto.${name}()`,
      "use ctx.uuid() or ctx.sideEffect()",
    );
  }
  const sleep = "use ctx.sleep()";
  for (const name of ["setTimeout", "setInterval", "setImmediate"]) guard(globalThis, name, `${name}()`, sleep);
  guard(globalThis, "fetch", "fetch()", "use an activity");
  process.on("unhandledRejection", unheard);
}

/**
 * A promise that failed and that nobody waits for ends a process. If it is one of a workflow, every process that goes on with the run would
 * end, one after the other: so it is told, and nothing more. Others are as they always were: somebody listens for them, or they end
 * the process.
 */
function unheard(reason: unknown): void {
  const where = inside();
  if (where !== undefined) {
    const said = reason instanceof Error ? reason.message : String(reason);
    process.emitWarning(`workflow ${where.workflow} does not wait for a promise that has failed: ${said}`);
  } else if (process.listenerCount("unhandledRejection") === 1) {
    throw reason;
  }
}
