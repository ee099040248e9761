// Failures of workflow code that nothing catches: an exception in a callback, or a rejected promise that nothing awaits. Each of them ends
// a process, and every process that goes on with the run would end in turn. Here they break the run instead, and its process lives.
// Failures of all other code are left as they are.
import { isLimpetError } from "../kernel/errors.ts";
import { type Inside, inside, runOutside } from "../workflows/inside.ts";

let watchers = 0;

/** Until the function that it returns is called. */
export function watchExceptions(): () => void {
  if (watchers++ === 0) {
    process.on("uncaughtExceptionMonitor", onException);
    process.on("unhandledRejection", onRejection);
  }
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    if (--watchers > 0) return;
    process.off("uncaughtExceptionMonitor", onException);
    process.off("unhandledRejection", onRejection);
  };
}

/** Called before the process decides what becomes of the exception. The context is that of the code which has thrown it. */
function onException(thrown: unknown): void {
  const where = inside();
  if (where === undefined || process.hasUncaughtExceptionCaptureCallback()) return;
  catchNext();
  runOutside(() => {
    where.blame?.(thrown);
    warn(where, "has thrown in a callback that nothing waits for", thrown);
  });
}

/** The exception is as good as caught: the listeners of the process, which mostly end it, do not hear of it. */
function catchNext(): void {
  const listeners = process.rawListeners("uncaughtException") as NodeJS.UncaughtExceptionListener[];
  process.removeAllListeners("uncaughtException");
  process.once("uncaughtException", () => {
    for (const listener of listeners) process.on("uncaughtException", listener);
  });
}

/**
 * A workflow may leave a promise alone, and its failure with it. A guard that has refused something must be heard. A rejection of other
 * code ends the process, unless another listener takes care of it.
 */
function onRejection(reason: unknown): void {
  const where = inside();
  if (where === undefined) {
    if (process.listenerCount("unhandledRejection") === 1) throw reason;
    return;
  }
  runOutside(() => {
    if (isLimpetError(reason, "WORKFLOW_MISUSED")) where.blame?.(reason);
    warn(where, "does not wait for a promise that has failed", reason);
  });
}

function warn({ workflow }: Inside, what: string, thrown: unknown): void {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  process.emitWarning(`workflow ${workflow} ${what}: ${text}`);
}
