// Guards the clock, random numbers, timers and the network of the process inside a workflow: their results
// are not in the history, so a replay would diverge.
//
// While code of workflows is in memory, each guarded property of the process is an accessor. It returns a
// stand-in that throws to workflow code, and the original value to all other code, side effects included.
// When the last workflow code has left memory, each property is restored.
import { LimpetError } from "../../kernel/errors.ts";
import type { CodeGuards } from "../../ports/workflow-code.ts";
import { type Inside, inside } from "./inside.ts";

type Fn = (...args: unknown[]) => unknown;

/** The workflow that the calling code belongs to, unless its result is recorded. */
function guarded(): Inside | undefined {
  const where = inside();
  return where === undefined || where.isRecorded === true ? undefined : where;
}

function refuse(what: string, instead: string): void {
  const where = guarded();
  if (where === undefined) return;
  throw new LimpetError("WORKFLOW_MISUSED", `${what} inside of workflow ${where.workflow}: ${instead}`);
}

/** Checks its caller at each call: workflow code may keep a reference and use it in a side effect. */
function refusing(original: Fn, what: string, instead: string): Fn {
  const standIn = function (this: unknown, ...args: unknown[]): unknown {
    refuse(what, instead);
    return original.apply(this, args);
  };
  // Some functions have properties, such as the promise form of setTimeout.
  Object.defineProperties(standIn, Object.getOwnPropertyDescriptors(original));
  return standIn;
}

const CLOCK = "use ctx.now()";
const SLEEP = "use ctx.sleep()";
const CHANCE = "use ctx.uuid() or ctx.sideEffect()";
const dates = new WeakMap<object, Fn>();

function refusingDate(original: Fn): Fn {
  const known = dates.get(original);
  if (known !== undefined) return known;
  const now = refusing((original as unknown as DateConstructor).now, "Date.now()", CLOCK);
  const standIn = new Proxy(original, {
    construct(target, args, newTarget) {
      if (args.length === 0) refuse("new Date()", CLOCK);
      return Reflect.construct(target, args, newTarget) as Date;
    },
    apply(target, self, args) {
      refuse("Date()", CLOCK);
      return Reflect.apply(target, self, args) as string;
    },
    get: (target, name, self) => (name === "now" ? now : Reflect.get(target, name, self)),
  });
  dates.set(original, standIn);
  return standIn;
}

/** One property of the process, and its stand-in for workflow code. */
class Guard {
  readonly #target: object;
  readonly #name: string;
  readonly #standInFor: (original: Fn) => Fn;
  #before: PropertyDescriptor | undefined;
  #original: unknown;
  #standIn: unknown;
  #isThere = false;

  constructor(target: object, name: string, standInFor: (original: Fn) => Fn) {
    this.#target = target;
    this.#name = name;
    this.#standInFor = standInFor;
  }

  readonly #get = (): unknown => (guarded() === undefined ? this.#original : this.#standIn);

  /** Other code, such as fake timers, may replace the property while it is guarded. */
  readonly #set = (value: unknown): void => {
    this.#original = value;
    this.#standIn = typeof value === "function" ? this.#standInFor(value as Fn) : value;
  };

  arm(): void {
    const before = Object.getOwnPropertyDescriptor(this.#target, this.#name);
    const value = (this.#target as Record<string, unknown>)[this.#name];
    // Not every platform has all of these properties, or allows guarding them.
    const mayChange = before === undefined ? Object.isExtensible(this.#target) : before.configurable === true;
    if (typeof value !== "function" || !mayChange) return;
    this.#before = before;
    this.#set(value);
    const enumerable = before?.enumerable ?? false;
    Object.defineProperty(this.#target, this.#name, { get: this.#get, set: this.#set, configurable: true, enumerable });
    this.#isThere = true;
  }

  disarm(): void {
    const before = this.#before;
    const now = Object.getOwnPropertyDescriptor(this.#target, this.#name);
    // A value that other code defined meanwhile stays.
    if (!this.#isThere || now?.get !== this.#get) return;
    this.#isThere = false;
    delete (this.#target as Record<string, unknown>)[this.#name];
    if (before === undefined && (this.#target as Record<string, unknown>)[this.#name] === this.#original) return;
    const isOwn = before !== undefined && !("value" in before);
    const value = { writable: true, configurable: true, enumerable: true, ...before, value: this.#original };
    Object.defineProperty(this.#target, this.#name, isOwn ? before : value);
  }
}

function guardsOfProcess(): Guard[] {
  const on = (target: object, names: readonly string[], of: string, instead: string): Guard[] =>
    names.map((name) => new Guard(target, name, (original) => refusing(original, `${of}${name}()`, instead)));
  return [
    new Guard(globalThis, "Date", refusingDate),
    // Inside a workflow, the constructor of a date equals the guarded Date.
    new Guard(Date.prototype, "constructor", refusingDate),
    ...on(Math, ["random"], "Math.", "use ctx.random()"),
    ...on(performance, ["now"], "performance.", CLOCK),
    ...on(globalThis.crypto, ["randomUUID", "getRandomValues"], "crypto.", CHANCE),
    ...on(globalThis, ["setTimeout", "setInterval", "setImmediate"], "", SLEEP),
    ...on(globalThis, ["fetch"], "", "use an activity"),
  ];
}

class ProcessGuards implements CodeGuards {
  readonly #guards = guardsOfProcess();
  #holders = 0;

  enter(): void {
    if (this.#holders++ > 0) return;
    for (const guard of this.#guards) guard.arm();
  }

  leave(): void {
    if (--this.#holders > 0) return;
    for (const guard of this.#guards) guard.disarm();
  }
}

/** One instance per process, shared by all its workers. */
export const processGuards: CodeGuards = new ProcessGuards();
