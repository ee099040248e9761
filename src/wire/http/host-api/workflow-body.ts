// Parses the bodies of requests about workflows. An unknown field is rejected, because it could be a request
// that is not fulfilled. Pure.
import { invalidBody } from "../../../kernel/check.ts";
import { LimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { nameProblem } from "../../../kernel/names.ts";
import type { NewWorkflow, RunName } from "../../../ports/workflow-admin.ts";
import { checked, checkWorkflowId } from "../../../workflows/definition/definition.ts";

type Fields = Readonly<Record<string, unknown>>;

const START_FIELDS = [
  ...["type", "id", "input", "queue", "build", "ifRunning", "ifEnded", "memo", "attributes"],
  ...["timeout", "runTimeout", "delay"],
];
const IF_RUNNING = ["fail", "existing", "terminate"] as const;
const IF_ENDED = ["start", "start unless completed", "fail", "existing"] as const;

export function parseStart(body: unknown): NewWorkflow {
  const fields = fieldsOf(body, START_FIELDS, '{"type": "order", "id": "order-17", "input": ["tea"]}');
  const { input, memo, attributes } = fields;
  const id = textOf(fields, "id");
  if (id !== undefined) checkWorkflowId(id);
  if (memo !== undefined && !isFields(memo)) throw invalidBody("memo must be an object");
  if (attributes !== undefined && !(isFields(attributes) && Object.values(attributes).every(isAttribute))) {
    throw invalidBody("attributes must be an object of texts, numbers, booleans and nulls");
  }
  return {
    type: checked("workflow", needed(fields, "type")),
    id,
    input,
    queue: textOf(fields, "queue"),
    build: textOf(fields, "build"),
    ifRunning: wordOf(fields, "ifRunning", IF_RUNNING),
    ifEnded: wordOf(fields, "ifEnded", IF_ENDED),
    memo: memo as NewWorkflow["memo"],
    attributes: attributes as NewWorkflow["attributes"],
    timeout: textOf(fields, "timeout"),
    runTimeout: textOf(fields, "runTimeout"),
    delay: textOf(fields, "delay"),
  };
}

export function parseMessage(
  body: unknown,
  what: "signal" | "query" | "update",
): { readonly run: RunName; readonly name: string; readonly input: unknown } {
  const fields = fieldsOf(body, ["id", "run", "name", "input"], '{"id": "order-17", "name": "…", "input": …}');
  return { run: runOf(fields), name: checked(what, needed(fields, "name")), input: fields.input };
}

export function parseEnding(
  body: unknown,
  act: "cancel" | "terminate",
): { readonly run: RunName; readonly reason: string } {
  const fields = fieldsOf(body, ["id", "run", "reason"], '{"id": "order-17", "reason": "…"}');
  const reason = textOf(fields, "reason") ?? "";
  if (Buffer.byteLength(reason) > LIMITS.reasonBytes) {
    throw invalidBody(`the reason to ${act} it must not be longer than ${LIMITS.reasonBytes} bytes`);
  }
  return { run: runOf(fields), reason };
}

/** Wakes the open run. */
export function parseWake(body: unknown): RunName {
  return { workflowId: workflowIdOf(fieldsOf(body, ["id"], '{"id": "order-17"}')) };
}

function runOf(fields: Fields): RunName {
  const runId = textOf(fields, "run");
  const problem = runId === undefined ? undefined : nameProblem(runId, LIMITS.idBytes);
  if (problem !== undefined) throw new LimpetError("NAME_INVALID", `run ${problem}`);
  return { workflowId: workflowIdOf(fields), runId };
}

function workflowIdOf(fields: Fields): string {
  const id = needed(fields, "id");
  checkWorkflowId(id);
  return id;
}

function fieldsOf(body: unknown, known: readonly string[], example: string): Fields {
  if (!isFields(body)) throw invalidBody(`the body must be an object, for example ${example}`);
  const unknown = Object.keys(body).find((key) => !known.includes(key));
  if (unknown === undefined) return body;
  const shown = JSON.stringify(unknown.slice(0, 60));
  throw invalidBody(`the body has a field ${shown}, which is unknown; the fields are ${known.join(", ")}`);
}

function textOf(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw invalidBody(`${name} must be a text`);
  return value;
}

function needed(fields: Fields, name: string): string {
  const text = textOf(fields, name);
  if (text === undefined) throw invalidBody(`the body needs a field ${name}`);
  return text;
}

function wordOf<Word extends string>(fields: Fields, name: string, words: readonly Word[]): Word | undefined {
  const text = textOf(fields, name);
  if (text === undefined) return undefined;
  const word = words.find((each) => each === text);
  if (word === undefined) throw invalidBody(`${name} must be one of ${words.join(", ")}`);
  return word;
}

const isAttribute = (value: unknown): boolean =>
  value === null || ["string", "number", "boolean"].includes(typeof value);

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
