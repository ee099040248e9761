// Handlers of reminders: set, get and cancel one by its names, and retry or drop a dead one.
import { LimpetError } from "../../../kernel/errors.ts";
import type { ReminderAdmin, ReminderName } from "../../../ports/reminder-admin.ts";
import { type Answer, emptyAnswer, errorAnswer, textAnswer } from "../answers.ts";
import { isExact, parseReminderName } from "../body.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../routes.ts";
import { encodingFor } from "../value-answer.ts";
import { parseReminder } from "./reminder-body.ts";

export async function reminder(
  { verb, type, id, name }: Route & { kind: "reminder" },
  exchange: Exchange,
  reminders: ReminderAdmin,
): Promise<Answer> {
  const names = { type, id, name };
  if (verb === "GET") return found(names, exchange, reminders);
  if (verb === "DELETE") {
    await reminders.cancel(names);
    return emptyAnswer(204);
  }
  const wish = parseReminder(await exchange.body(), isExact(exchange.request.headers["content-type"]));
  if (await reminders.set(names, wish)) return emptyAnswer(204);
  const problem = `${type}/${id} has a reminder ${JSON.stringify(name)}, and overwrite is false`;
  return errorAnswer(new LimpetError("REMINDER_EXISTS", problem));
}

async function found(names: ReminderName, { request }: Exchange, reminders: ReminderAdmin): Promise<Answer> {
  const { type, id, name } = names;
  const one = await reminders.get(names);
  if (one === undefined) return unknown(`${type}/${id} has no reminder ${JSON.stringify(name)}`);
  const { data, ...when } = one;
  const { type: contentType, encode } = encodingFor(request.headers.accept, false);
  // The other fields are texts, the same in every encoding, so data is nested no deeper here than where it
  // was set.
  const head = JSON.stringify({ actorType: type, actorID: id, name, ...when });
  const tail = data === undefined ? undefined : encode(data);
  return textAnswer(200, contentType, tail === undefined ? head : `${head.slice(0, -1)},"data":${tail}}`);
}

export async function retryReminder(exchange: Exchange, reminders: ReminderAdmin): Promise<Answer> {
  const names = parseReminderName(await exchange.body());
  if (await reminders.retry(names)) return emptyAnswer(204);
  return unknown(`${deadOf(names)}, or one of that name was set meanwhile`);
}

export async function dropReminder(exchange: Exchange, reminders: ReminderAdmin): Promise<Answer> {
  const names = parseReminderName(await exchange.body());
  return (await reminders.drop(names)) ? emptyAnswer(204) : unknown(deadOf(names));
}

const deadOf = ({ type, id, name }: ReminderName): string =>
  `${type}/${id} has no dead reminder ${JSON.stringify(name)}`;

const unknown = (problem: string): Answer => errorAnswer(new LimpetError("REMINDER_UNKNOWN", problem));
