// Catches failures of workflow code that nothing else catches: an exception in a callback, or a rejected
// promise that nothing awaits. Each would end the process, and then every other process that takes the run.
// Here such a failure blocks the run, and the process goes on. Failures of all other code are not touched.
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { type Inside, inside, runOutside } from "./inside.ts";

/** Registers a handler of rejections, which returns true for those that it has dealt with. */
export type ClaimRejections = (claim: (reason: unknown) => boolean) => () => void;

let watchers = 0;
let withdraw = (): void => {};

/** Watches until the returned function is called. */
export function watchExceptions(claimRejections: ClaimRejections): () => void {
  if (watchers++ === 0) {
    process.on("uncaughtExceptionMonitor", onException);
    withdraw = claimRejections(onRejection);
  }
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    if (--watchers > 0) return;
    process.off("uncaughtExceptionMonitor", onException);
    withdraw();
  };
}

/** Called before the process handles the exception, in the async context of the code that threw it. */
function onException(thrown: unknown): void {
  const where = inside();
  if (where === undefined || process.hasUncaughtExceptionCaptureCallback()) return;
  catchNext();
  runOutside(() => {
    where.blame?.(thrown);
    warn(where, "threw an exception in a callback that nothing awaits", thrown);
  });
}

/** The exception counts as caught: the listeners of the process, which mostly end it, are not called. */
function catchNext(): void {
  const listeners = process.rawListeners("uncaughtException") as NodeJS.UncaughtExceptionListener[];
  process.removeAllListeners("uncaughtException");
  process.once("uncaughtException", () => {
    for (const listener of listeners) process.on("uncaughtException", listener);
  });
}

/** A workflow may ignore a promise and its rejection, but not the error of a guard. */
function onRejection(reason: unknown): boolean {
  const where = inside();
  if (where === undefined) return false;
  runOutside(() => {
    if (isLimpetError(reason, "WORKFLOW_MISUSED")) where.blame?.(reason);
    warn(where, "does not await a promise that was rejected", reason);
  });
  return true;
}

function warn({ workflow }: Inside, what: string, thrown: unknown): void {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  process.emitWarning(`workflow ${workflow} ${what}: ${text}`);
}

/**
 * A failure of a run's code in a callback that nothing awaits. Its timing is random, so a retry soon does not
 * help: the run is parked until its code is repaired.
 */
export class Stray extends LimpetError {
  constructor(name: string, thrown: unknown) {
    super("WORKFLOW_MISUSED", textOf(name, thrown), { cause: thrown });
  }
}

function textOf(name: string, thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  // The error of a guard already names the run.
  if (isLimpetError(thrown, "WORKFLOW_MISUSED")) return `${text} (in a callback that the workflow does not await)`;
  return `${name}: a callback that the workflow does not await threw: ${text}; use an activity`;
}
