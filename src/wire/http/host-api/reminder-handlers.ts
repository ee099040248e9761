// Handlers of reminders: set, get and cancel one by its names, and retry or drop a dead one.
import { LimpetError } from "../../../kernel/errors.ts";
import type { ReminderName } from "../../../ports/reminder-admin.ts";
import { emptyAnswer, encodingFor, errorAnswer, type HttpAnswer, textAnswer } from "../answers.ts";
import { isExactType, parseReminderName } from "../body.ts";
import { adminHandler, type HostRequest } from "./host-request.ts";
import { parseReminder } from "./reminder-body.ts";

type ReminderRequest = HostRequest<keyof ReminderName>;

export async function setReminder({ names, exchange, host }: ReminderRequest): Promise<HttpAnswer> {
  const { type, id, name } = names;
  const request = parseReminder(await exchange.body(), isExactType(exchange.request.headers["content-type"]));
  if (await host.admin({ kind: "setReminder", name: names, request })) return emptyAnswer(204);
  const problem = `${type}/${id} has a reminder ${JSON.stringify(name)}, and overwrite is false`;
  return errorAnswer(new LimpetError("REMINDER_EXISTS", problem));
}

export const cancelReminder = adminHandler(({ names }: ReminderRequest) => ({ kind: "cancelReminder", name: names }));

export async function showReminder({ names, exchange, host }: ReminderRequest): Promise<HttpAnswer> {
  const { type, id, name } = names;
  const one = await host.admin({ kind: "reminder", name: names });
  if (one === undefined) return unknown(`${type}/${id} has no reminder ${JSON.stringify(name)}`);
  const { data, ...when } = one;
  const { type: contentType, encode } = encodingFor(exchange.request.headers.accept, false);
  // The other fields are texts, the same in every encoding, so data is nested no deeper here than where it
  // was set.
  const head = JSON.stringify({ actorType: type, actorID: id, name, ...when });
  const tail = data === undefined ? undefined : encode(data);
  return textAnswer(200, contentType, tail === undefined ? head : `${head.slice(0, -1)},"data":${tail}}`);
}

export async function retryReminder({ exchange, host }: HostRequest): Promise<HttpAnswer> {
  const name = parseReminderName(await exchange.body());
  if (await host.admin({ kind: "retryReminder", name })) return emptyAnswer(204);
  return unknown(`${deadOf(name)}, or one of that name was set meanwhile`);
}

export async function dropReminder({ exchange, host }: HostRequest): Promise<HttpAnswer> {
  const name = parseReminderName(await exchange.body());
  return (await host.admin({ kind: "dropReminder", name })) ? emptyAnswer(204) : unknown(deadOf(name));
}

const deadOf = ({ type, id, name }: ReminderName): string =>
  `${type}/${id} has no dead reminder ${JSON.stringify(name)}`;

const unknown = (problem: string): HttpAnswer => errorAnswer(new LimpetError("REMINDER_UNKNOWN", problem));
