// Rules for names. A name is checked once, where it enters the process; all other code trusts it. Names are
// never joined with a separator, so nearly every character is allowed. Rejected characters would break a URL,
// a terminal or a log line.
import { LimpetError } from "./errors.ts";
import { LIMITS } from "./limits.ts";

/** The key of an actor, as three separate words. */
export interface ActorKey {
  readonly namespace: string;
  readonly type: string;
  readonly id: string;
}

/** The prefix of job types, which no actor type has; the name of the job follows it. */
export const JOB_MARK = "$";

/** The prefix of internal types: timers and activities of workflows. Callers must not use it. */
const INTERNAL_MARK = "$$";

type TypeAndId = Pick<ActorKey, "type" | "id">;

/** Orders by type, then id, by code point: the order of every store. */
export function compareNames(a: TypeAndId, b: TypeAndId): number {
  return (
    Buffer.compare(Buffer.from(a.type), Buffer.from(b.type)) || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))
  );
}

// Control characters (C0, DEL, C1) and the characters that split a URL.
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
const REFUSED = /[\u0000-\u001f\u007f-\u009f/\\#?]/;

/** Returns the problem with a name as the end of a sentence, or `undefined` when there is none. */
export function nameProblem(name: unknown, maxBytes: number): string | undefined {
  if (typeof name !== "string") return `must be a string, not ${name === null ? "null" : typeof name}`;
  if (name === "") return "must not be empty";
  if (name === "." || name === "..") return `must not be "${name}"`;
  if (REFUSED.test(name)) return "must not contain control characters or any of / \\ # ?";
  if (!name.isWellFormed()) return "must be well-formed Unicode";
  // A UTF-16 unit is at most three bytes, so most names are short enough without encoding them.
  if (name.length * 3 > maxBytes && Buffer.byteLength(name) > maxBytes) return `must be at most ${maxBytes} bytes`;
  return undefined;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Checks a text that users choose freely: request ids and build names. It is not part of a URL, so more
 * characters are allowed than in a name.
 */
export function textProblem(id: unknown): string | undefined {
  if (typeof id !== "string") return `must be a string, not ${id === null ? "null" : typeof id}`;
  if (id === "") return "must not be empty";
  if (CONTROL.test(id)) return "must not contain control characters";
  if (!id.isWellFormed()) return "must be well-formed Unicode";
  return Buffer.byteLength(id) > LIMITS.idBytes ? `must be at most ${LIMITS.idBytes} bytes` : undefined;
}

/** Some stores cannot store or query texts with a NUL or half a character. */
export const canBeKept = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

function check(kind: string, name: string, maxBytes: number): void {
  const problem = nameProblem(name, maxBytes);
  if (problem !== undefined) throw new LimpetError("NAME_INVALID", `${kind} ${problem}`);
}

export const checkNamespace = (name: string): void => check("namespace", name, LIMITS.wordBytes);
export function checkType(name: string): void {
  checkTypeFilter(name);
  if (!name.startsWith(INTERNAL_MARK)) return;
  throw new LimpetError("NAME_INVALID", `actor type must not begin with ${INTERNAL_MARK}: such types are internal`);
}

/** For a listing, which also shows rows of internal types. */
export const checkTypeFilter = (name: string): void => check("actor type", name, LIMITS.wordBytes);
export const checkId = (name: string): void => check("actor id", name, LIMITS.idBytes);
export const checkMethod = (name: string): void => check("method", name, LIMITS.wordBytes);
export const checkReminderName = (name: string): void => check("reminder name", name, LIMITS.idBytes);
export const checkTimerName = (name: string): void => check("timer name", name, LIMITS.wordBytes);

/** Types with two marks are internal. */
export function checkJobName(name: string): void {
  check("job name", name, LIMITS.wordBytes - JOB_MARK.length);
  if (name.startsWith(JOB_MARK)) throw new LimpetError("NAME_INVALID", `job name must not begin with ${JOB_MARK}`);
}

/** Rejects a job where only actors are allowed. */
export function checkNoJob(type: string): void {
  if (!type.startsWith(JOB_MARK)) return;
  throw new LimpetError("NAME_INVALID", `actor type must not begin with ${JOB_MARK}: that is a job, and set in code`);
}
