// Reads the body of a request to set a reminder. Unknown fields are ignored, as in Dapr: its SDKs send more,
// such as `reminderName`. Inside `failure_policy` they are rejected. The reminders check the schedule itself
// later. Pure.
import { invalidBody, showValue } from "../../../kernel/check.ts";
import { LimpetError } from "../../../kernel/errors.ts";
import type { NewReminder } from "../../../ports/reminder-admin.ts";
import type { FailureOptions } from "../../../ports/reminder-options.ts";
import { parseGoDuration } from "../../../reminders/schedule/go-duration.ts";
import { averageLength, parseIsoDuration } from "../../../reminders/schedule/period.ts";
import { parseBody } from "../body.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Default of `failure_policy.constant.interval`. */
const INTERVAL = "1s";

const senseless = (problem: string): LimpetError => new LimpetError("REMINDER_INVALID", problem);

export function parseReminder(bytes: Buffer, exact: boolean): NewReminder {
  const body = parseBody(bytes, exact);
  if (!isFields(body)) throw invalidBody('the body must be an object, for example {"dueTime": "10s", "data": "tea"}');
  const { dueTime = null, period = null, ttl = null, data, overwrite, failure_policy } = body;
  if (overwrite !== undefined && overwrite !== null && typeof overwrite !== "boolean") {
    throw invalidBody("overwrite must be true or false");
  }
  return {
    // The schedule parser rejects values that are not texts.
    ...({ dueTime, period, ttl } as { dueTime: string | null; period: string | null; ttl: string | null }),
    data,
    onFailure: failure_policy === undefined || failure_policy === null ? undefined : parsePolicy(failure_policy),
    isNew: overwrite === false,
  };
}

/**
 * `{"drop": {}}`: one attempt. `{"constant": {"interval": "10s", "max_retries": 3}}`: that many retries,
 * without a number unlimited.
 */
function parsePolicy(policy: unknown): FailureOptions {
  if (isFields(policy) && Object.keys(policy).length === 1) {
    if (isFields(policy.drop)) {
      checkFields(policy.drop, [], "failure_policy.drop");
      return { attempts: 1, giveUp: "drop" };
    }
    if (isFields(policy.constant)) return parseConstant(policy.constant);
  }
  throw senseless(
    'failure_policy: must be {"drop": {}} or {"constant": {"interval": "10s", "max_retries": 3}}; without it, a failed reminder is retried ten times and kept',
  );
}

function parseConstant(constant: Fields): FailureOptions {
  checkFields(constant, ["interval", "max_retries", "maxRetries"], "failure_policy.constant");
  const { interval, max_retries, maxRetries } = constant;
  const retries = max_retries ?? maxRetries ?? undefined;
  if (retries !== undefined && !(Number.isSafeInteger(retries) && (retries as number) >= 0)) {
    throw senseless(
      "failure_policy.constant.max_retries: must be a whole number from 0, or left out for unlimited retries",
    );
  }
  const pause = parseInterval(interval ?? INTERVAL);
  const attempts =
    retries === undefined ? Number.MAX_SAFE_INTEGER : Math.min((retries as number) + 1, Number.MAX_SAFE_INTEGER);
  return { attempts, pause, longestPause: pause, giveUp: "drop" };
}

/**
 * Accepts the forms of `dueTime`: a Go duration or an ISO 8601 duration with days of 24 hours. Less than a
 * millisecond counts as one.
 */
function parseInterval(interval: unknown): number {
  const text = typeof interval === "string" ? interval : "";
  const nanoseconds = parseGoDuration(text);
  if (nanoseconds !== undefined) return Number((nanoseconds + 999_999n) / 1_000_000n);
  const iso = parseIsoDuration(text);
  if (iso !== undefined && iso.times === undefined) return Math.ceil(averageLength(iso.period));
  throw senseless(
    `failure_policy.constant.interval: ${showValue(interval)} is not a duration; write for example "10s" or "PT10S"`,
  );
}

function checkFields(fields: Fields, known: readonly string[], where: string): void {
  const unknown = Object.keys(fields).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const all = known.length === 0 ? "none" : known.join(", ");
  throw invalidBody(
    `${where} has a field ${JSON.stringify(unknown.slice(0, 60))}, which is unknown; the fields are ${all}`,
  );
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
