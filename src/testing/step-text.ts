// Texts of durable steps for display: one line for a transaction. Pure.
import type { ReminderWrite, Settlement } from "../ports/store/reminders.ts";
import type { Closing, InboxMessage, RunStart, TaskCompletion } from "../ports/store/workflows.ts";
import { readMessage } from "../workflows/definition/messages.ts";
import { type HistoryEvent, readEventBatch } from "../workflows/engine/events.ts";

const nameIn = (event: object): string =>
  "name" in event && typeof event.name === "string" ? ` ${event.name}` : "change" in event ? ` ${event.change}` : "";

const eventText = (event: HistoryEvent): string => `${event.kind}${nameIn(event)}`;

const eventsText = (data: string): string => readEventBatch(data).events.map(eventText).join(", ");

export const startText = ({ workflowId, first }: RunStart): string => `${workflowId}: ${eventsText(first.data)}`;

export function arrivalText({ workflowId, data }: InboxMessage): string {
  const { message } = readMessage(data);
  return `to ${workflowId}: ${message.kind}${nameIn(message)}`;
}

export const appendText = ({ batch: page, outcome }: TaskCompletion, workflowId: string): string =>
  `${workflowId}: ${page === undefined ? "nothing new" : eventsText(page.data)}${outcome.kind === "rest" ? ", rests" : ""}`;

export const closingText = ({ workflowId, status }: Closing): string => `${workflowId}: ${status}`;

export const reminderText = (write: ReminderWrite): string =>
  `reminder ${write.key.type}/${write.key.id}/${write.key.name} ${write.kind === "set" ? "set" : "cancelled"}`;

export const settlementText = ({ kind }: Settlement): string => `reminder ${kind}`;
