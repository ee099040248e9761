// Converts the JSON commands of an HTTP worker to commands of the engine. An invalid command is rejected with
// its position. Pure.

import { LIMITS } from "../../../kernel/limits.ts";
import { nameProblem } from "../../../kernel/names.ts";
import type { SerializedError } from "../../../kernel/serialized-error.ts";
import { toWire } from "../../../kernel/values.ts";
import { attributesProblem, isPlainOrList } from "../../../workflows/definition/attributes.ts";
import type { ParentClosePolicy, SerializedActivityOptions } from "../../../workflows/engine/events.ts";
import type { WorkerCommand } from "../../commands/command.ts";
import { serializedFrom } from "../../commands/commands.ts";
import { invalidField, Refused } from "../../refusal.ts";
import {
  type Fields,
  isFields,
  list,
  object,
  oneOf,
  optionalText,
  optionalTexts,
  optionalWhole,
  text,
  whole,
  words,
} from "../fields.ts";
import { groupOf, localOutcome, policyOf, refused, refuseUnsupported, selectionMember } from "./command-parts.ts";
import { readArguments, readPayload } from "./payloads.ts";

export const MOST_COMMANDS = 1_000;
const MOST_DELAYS = 1_000;
/** A hundred years. */
const MOST_SECONDS = 3_155_760_000;

/** Commands of the protocol that are rejected by name, before anything of their task is recorded. */
export const REFUSED_COMMANDS = ["prepare_local_activity", "start_service_operation"] as const;

export const COMMAND_NAMES = [
  "complete_workflow",
  "fail_workflow",
  "continue_as_new",
  "schedule_activity",
  "start_timer",
  "start_child_workflow",
  "complete_update",
  "fail_update",
  "record_side_effect",
  "record_version_marker",
  "upsert_search_attributes",
  "upsert_memo",
  "record_local_activity",
  "cancel_selection_operation",
  "open_condition_wait",
  "open_signal_wait",
] as const satisfies readonly WorkerCommand["kind"][];

export function parseCommands(fields: Fields): WorkerCommand[] {
  const commands = list(fields, "commands");
  if (commands === undefined) throw invalidField("commands", "is required");
  if (commands.length > MOST_COMMANDS) {
    throw new Refused(422, "structural_limit_exceeded", `a task can have at most ${MOST_COMMANDS} commands`, {
      limit_kind: "commands_per_completion",
      current_value: commands.length,
      configured_limit: MOST_COMMANDS,
    });
  }
  return commands.map((command, i) => {
    if (!isFields(command)) throw invalidCommand(i, "must be an object");
    const { type } = command;
    if (!COMMAND_NAMES.includes(type as never)) throw unknownCommand(i, type);
    try {
      refuseUnsupported(command);
      return parseCommand(type as WorkerCommand["kind"], command);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.reason === "unsupported_command") throw unsupported(i, String(type), error.message);
      if (error.reason === "validation_failed") throw invalidCommand(i, error.message);
      throw error;
    }
  });
}

function unknownCommand(i: number, type: unknown): Refused {
  const shown = JSON.stringify(type)?.slice(0, 80) ?? "undefined";
  if (!REFUSED_COMMANDS.includes(type as never)) return invalidCommand(i, `${shown} is not a command`);
  return unsupported(i, String(type), `command ${shown} is not supported`);
}

/**
 * The reason and `unsupported` name the unsupported command or field; docs/worker-protocol.md lists all of
 * them.
 */
const unsupported = (i: number, command: string, problem: string): Refused =>
  new Refused(409, "unsupported_command", `commands[${i}]: ${problem}`, {
    unsupported: command,
    supported_workflow_task_commands: COMMAND_NAMES,
    errors: { [`commands.${i}`]: [problem] },
  });

const invalidCommand = (i: number, problem: string): Refused =>
  new Refused(409, "invalid_commands", `commands[${i}]: ${problem}`, { errors: { [`commands.${i}`]: [problem] } });

function parseCommand(kind: WorkerCommand["kind"], fields: Fields): WorkerCommand {
  switch (kind) {
    case "schedule_activity": {
      const name = nameOf(fields, "activity_type");
      const input = readArguments(fields.arguments, "arguments");
      return { kind, name, input, options: activityOptions(fields), ...groupOf(fields) };
    }
    case "start_timer":
      return { kind, seconds: whole(fields, "delay_seconds", 0, MOST_SECONDS), ...groupOf(fields) };
    case "start_child_workflow": {
      const input = readArguments(fields.arguments, "arguments");
      const queue = fields.queue == null ? undefined : nameOf(fields, "queue");
      const type = nameOf(fields, "workflow_type");
      policyOf(fields, "abandon", []);
      const timeout = milliseconds(fields, "execution_timeout_seconds");
      const runTimeout = milliseconds(fields, "run_timeout_seconds");
      const onParentClose = parentClose(fields);
      return { kind, type, input, queue, onParentClose, timeout, runTimeout, ...groupOf(fields) };
    }
    case "open_condition_wait": {
      const key = optionalText(fields, "condition_key", 1_000);
      const fingerprint = optionalText(fields, "condition_definition_fingerprint", 1_000);
      return { kind, key, fingerprint, seconds: optionalWhole(fields, "timeout_seconds", 0, MOST_SECONDS) };
    }
    case "open_signal_wait": {
      const seconds = optionalWhole(fields, "timeout_seconds", 0, MOST_SECONDS);
      return { kind, name: nameOf(fields, "signal_name"), seconds };
    }
    case "record_side_effect":
      return { kind, result: readPayload(fields.result, "result") };
    case "record_version_marker": {
      const number = (name: string): number => whole(fields, name, -1_000_000, 1_000_000);
      const [version, min, max] = [number("version"), number("min_supported"), number("max_supported")];
      return { kind, change: text(fields, "change_id"), version, min, max };
    }
    case "upsert_search_attributes": {
      const attributes = object(fields, "attributes");
      if (attributes === undefined) throw invalidField("attributes", "is required");
      const problem = attributesProblem(attributes, isPlainOrList);
      if (problem !== undefined) throw invalidField("attributes", problem);
      return { kind, attributes: toWire(attributes, "attributes", "ARGUMENT_INVALID") };
    }
    case "upsert_memo":
      return { kind, entries: readPayload(fields.entries, "entries") };
    case "record_local_activity":
      return {
        kind,
        name: nameOf(fields, "activity_type"),
        input: readArguments(fields.arguments, "arguments"),
        outcome: localOutcome(fields),
      };
    case "cancel_selection_operation":
      return { kind, ...selectionMember(fields) };
    case "complete_update":
      return { kind, id: text(fields, "update_id", LIMITS.idBytes), result: readPayload(fields.result, "result") };
    case "fail_update":
      return { kind, id: text(fields, "update_id", LIMITS.idBytes), error: errorOf(fields) };
    case "complete_workflow":
      return { kind, result: readPayload(fields.result, "result") };
    case "fail_workflow":
      return { kind, error: errorOf(fields) };
    case "continue_as_new": {
      const type = fields.workflow_type == null ? undefined : nameOf(fields, "workflow_type");
      const queue = fields.queue == null ? undefined : nameOf(fields, "queue");
      return { kind, type, input: readArguments(fields.arguments, "arguments"), queue };
    }
  }
}

function nameOf(fields: Fields, field: string): string {
  const name = text(fields, field);
  const problem = nameProblem(name, LIMITS.wordBytes);
  if (problem !== undefined) throw invalidField(field, problem);
  return name;
}

function errorOf(fields: Fields): SerializedError {
  const { message: inner, type } = object(fields, "exception") ?? {};
  const message = words(fields, "message") ?? (typeof inner === "string" ? inner : "no message");
  const name = words(fields, "exception_type", 255) ?? words(fields, "exception_class", 255);
  return serializedFrom(message, name ?? (typeof type === "string" ? type.slice(0, 255) : undefined));
}

function milliseconds(fields: Fields, name: string): number | undefined {
  const seconds = optionalWhole(fields, name, 1, MOST_SECONDS);
  return seconds === undefined ? undefined : seconds * 1_000;
}

function activityOptions(fields: Fields): SerializedActivityOptions {
  const retry = object(fields, "retry_policy");
  const ms = (name: string): number | undefined => milliseconds(fields, name);
  const options = {
    queue: fields.queue == null ? undefined : nameOf(fields, "queue"),
    // A command without a retry policy has one attempt.
    attempts: retry === undefined ? 1 : optionalWhole(retry, "max_attempts", 1, 1_000_000),
    delays: retry === undefined ? undefined : delaysOf(retry),
    nonRetryable: retry === undefined ? undefined : optionalTexts(retry, "non_retryable_error_types"),
    startToClose: ms("start_to_close_timeout"),
    scheduleToStart: ms("schedule_to_start_timeout"),
    scheduleToClose: ms("schedule_to_close_timeout"),
    heartbeat: ms("heartbeat_timeout"),
    onCancel: policyOf(fields, "try_cancel", ["abandon"]),
  };
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as SerializedActivityOptions;
}

function delaysOf(retry: Fields): number[] | undefined {
  const delays = list(retry, "backoff_seconds");
  if (delays === undefined || delays.length === 0) return undefined;
  if (delays.length > MOST_DELAYS) throw invalidField("backoff_seconds", `can have at most ${MOST_DELAYS} pauses`);
  if (!delays.every((seconds) => typeof seconds === "number" && seconds >= 0 && seconds <= MOST_SECONDS)) {
    throw invalidField("backoff_seconds", "must be a list of seconds");
  }
  return (delays as number[]).map((seconds) => Math.round(seconds * 1_000));
}

function parentClose(fields: Fields): ParentClosePolicy {
  if (fields.parent_close_policy === "request_cancellation") throw refused("parent_close_policy request_cancellation");
  const policy = oneOf(fields, "parent_close_policy", ["abandon", "request_cancel", "terminate"]);
  return policy === "request_cancel" ? "cancel" : (policy ?? "abandon");
}
