// Encodes and decodes payloads. Inside the host, values have their JSON-ready form. On the wire they are
// Avro, in an envelope or bare, or plain JSON where people write them.
//
// Code of HTTP workers takes a list of arguments, our workflows take one input. A list of one argument is
// that input, an empty list is none, and any other list stays a list. An argument that is a list itself stays
// inside its list, so nothing is ambiguous.

import { isLimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { toWire } from "../../../kernel/values.ts";
import type { Wire } from "../../../workflows/engine/events.ts";
import { decodeAvro, encodeAvro } from "../../avro-value.ts";
import { invalidField, Refused, tooLarge } from "../../refusal.ts";
import { type Fields, isFields } from "../fields.ts";

export const CODEC = "avro";
const NOTHING: Wire = { $: "undefined" };

export interface PayloadEnvelope {
  readonly codec: typeof CODEC;
  readonly blob: string;
}

export const blobOf = (wire: Wire): string => encodeAvro(wire);
export const envelopeOf = (wire: Wire): PayloadEnvelope => ({ codec: CODEC, blob: blobOf(wire) });
export const argumentsOf = (input: Wire): PayloadEnvelope => envelopeOf(inputToArguments(input));

/** Reads an envelope, or the blob alone. `what` names the field. */
export function readPayload(payload: unknown, what: string): Wire {
  if (payload === undefined || payload === null) return null;
  if (typeof payload === "string") return decode(payload, what);
  if (!isFields(payload)) throw invalidField(what, "must be a payload: a blob or an envelope with codec and blob");
  const { codec = CODEC, blob } = payload;
  if (codec !== CODEC) throw new Refused(422, "unsupported_payload_codec", `${what}: the only codec is ${CODEC}`);
  if (Object.hasOwn(payload, "external_storage")) {
    throw new Refused(422, "unsupported_external_storage", `${what}: payloads in external storage are not supported`);
  }
  if (typeof blob !== "string") throw invalidField(what, "has no blob");
  return decode(blob, what);
}

function decode(blob: string, what: string): Wire {
  const bytes = Math.floor((blob.length * 3) / 4);
  if (bytes > LIMITS.workflowPayloadBytes) throw tooLarge(what, bytes, LIMITS.workflowPayloadBytes);
  try {
    return decodeAvro(blob);
  } catch (error) {
    if (!isLimpetError(error, "ARGUMENT_INVALID")) throw error;
    const [reason] = error.message.split(":");
    throw new Refused(422, reason!, `${what}: ${error.message}`);
  }
}

/** Reads arguments as a payload, as one input. */
export const readArguments = (payload: unknown, what: string): Wire => argumentsToInput(readPayload(payload, what));

/** Reads the field `input`: a plain list of arguments, or a payload. */
export function readInput({ input }: Fields): Wire {
  if (input === undefined || input === null) return NOTHING;
  if (Array.isArray(input)) return argumentsToInput(toWire(input, "input", "ARGUMENT_INVALID"));
  return readArguments(input, "input");
}

function argumentsToInput(args: Wire): Wire {
  if (!Array.isArray(args)) return args;
  if (args.length === 0) return NOTHING;
  return args.length === 1 && !Array.isArray(args[0]) ? args[0] : args;
}

export function inputToArguments(input: Wire): Wire {
  if (Array.isArray(input)) return input;
  return isFields(input) && input.$ === "undefined" ? [] : [input];
}
