// Parses the queries that list actors, sticky actors or reminders, and encodes the cursor from one page to
// the next. Pure.
import { invalidArgument } from "../../../kernel/check.ts";
import { LimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { checkId, checkType, checkTypeFilter, nameProblem } from "../../../kernel/names.ts";
import type { ActorPage, ListQuery, StickyQuery } from "../../../ports/host-admin.ts";
import type { ReminderName, ReminderPage, ReminderPageQuery } from "../../../ports/reminder-admin.ts";
import { decodePercent } from "../route.ts";

const PARAMETERS = ["type", "prefix", "active", "after", "limit"] as const;
const STICKY_PARAMETERS = ["type", "prefix", "after", "limit"] as const;
const REMINDER_PARAMETERS = ["type", "id", "after", "limit"] as const;
type Parameter = (typeof PARAMETERS | typeof REMINDER_PARAMETERS)[number];

const DEFAULT_LIMIT = 100;

export function parseListQuery(query: string): ListQuery {
  const given = parseParameters(query, PARAMETERS);
  return { ...parseCommon(given), active: parseFlag(given.get("active")) };
}

export function parseStickyQuery(query: string): StickyQuery {
  return parseCommon(parseParameters(query, STICKY_PARAMETERS));
}

export function parseReminderQuery(query: string): ReminderPageQuery {
  const given = parseParameters(query, REMINDER_PARAMETERS);
  const type = given.get("type");
  if (type !== undefined) checkTypeFilter(type);
  const id = given.get("id");
  if (id !== undefined) checkId(id);
  return { type, id, after: parseReminderCursor(given.get("after")), limit: parseLimit(given.get("limit")) };
}

function parseCommon(given: ReadonlyMap<Parameter, string>): Omit<ListQuery, "active"> {
  const type = given.get("type");
  if (type !== undefined) checkType(type);
  const prefix = given.get("prefix");
  if (prefix !== undefined) {
    // A prefix is valid when an id could begin with it.
    const problem = nameProblem(`${prefix}x`, LIMITS.idBytes + 1);
    if (problem !== undefined) throw new LimpetError("NAME_INVALID", `prefix ${problem}`);
  }
  return { type, prefix, after: parseCursor(given.get("after")), limit: parseLimit(given.get("limit")) };
}

/** A parameter without a value counts as absent. */
export function parseParameters<Parameter extends string>(
  query: string,
  parameters: readonly Parameter[],
): Map<Parameter, string> {
  const given = new Map<Parameter, string>();
  for (const pair of query.split("&")) {
    if (pair === "") continue;
    const cut = pair.indexOf("=");
    const name = (cut === -1 ? pair : pair.slice(0, cut)) as Parameter;
    if (!parameters.includes(name))
      throw invalidArgument(`unknown query parameter; the parameters are ${parameters.join(", ")}`);
    if (given.has(name)) throw invalidArgument(`query parameter ${name} is given twice`);
    const value = cut === -1 ? "" : decodePercent(pair.slice(cut + 1).replaceAll("+", " "), `query parameter ${name}`);
    if (value !== "") given.set(name, value);
  }
  return given;
}

export function parseFlag(text: string | undefined, name = "active"): boolean | undefined {
  if (text === undefined || text === "false") return undefined;
  if (text === "true") return true;
  throw invalidArgument(`query parameter ${name} must be "true" or "false"`);
}

export function parseLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > LIMITS.listPage)
    throw invalidArgument(`query parameter limit must be 1 to ${LIMITS.listPage}`);
  return limit;
}

type Place = NonNullable<ActorPage["next"]>;

/** A page in the form of the answer. */
export function travellingPage<Actor>({ actors, next }: { actors: readonly Actor[]; next: Place | undefined }) {
  return { actors, next: next === undefined ? undefined : formatCursor(next) };
}

export function travellingReminders<Reminder>({ now, reminders, next }: ReminderPage<Reminder>) {
  return { now, reminders, next: next === undefined ? undefined : formatReminderCursor(next) };
}

export const formatCursor = ({ type, id }: Place): string => formatWords([type, id]);
export const formatReminderCursor = ({ type, id, name }: ReminderName): string => formatWords([type, id, name]);

/** Opaque to clients, so that its content can change. */
export function formatWords(words: readonly string[]): string {
  return Buffer.from(JSON.stringify(words)).toString("base64url");
}

const PLACE_BYTES = [LIMITS.wordBytes, LIMITS.idBytes];
const REMINDER_BYTES = [...PLACE_BYTES, LIMITS.idBytes];

function parseCursor(text: string | undefined): Place | undefined {
  if (text === undefined) return undefined;
  const [type, id] = parseWords(text, PLACE_BYTES) as [string, string];
  return { type, id };
}

function parseReminderCursor(text: string | undefined): ReminderName | undefined {
  if (text === undefined) return undefined;
  const [type, id, name] = parseWords(text, REMINDER_BYTES) as [string, string, string];
  return { type, id, name };
}

/** Parses names of at most the given bytes each, and nothing else. */
export function parseWords(text: string, bytes: readonly number[]): readonly string[] {
  let words: unknown;
  try {
    words = JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    words = undefined;
  }
  if (Array.isArray(words) && words.length === bytes.length) {
    const fine = bytes.every((most, i) => nameProblem(words[i], most) === undefined);
    if (fine && formatWords(words) === text) return words;
  }
  throw invalidArgument("query parameter after must be the `next` of an earlier page");
}
