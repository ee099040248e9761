// Reads the fields of a request; an invalid field is rejected by name. Unknown fields are ignored, because
// workers of later versions may send some. Pure.

import { canBeKept } from "../../kernel/names.ts";
import { parseBody } from "../../wire/http/body.ts";
import { invalidField, Refused } from "../refusal.ts";

export type Fields = Readonly<Record<string, unknown>>;

export function parseFields(bytes: Buffer): Fields {
  if (bytes.length === 0) return {};
  const body = parseBody(bytes, false);
  if (!isFields(body)) throw new Refused(400, "invalid_body", "the body must be a JSON object");
  return body;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Null counts as absent, everywhere. */
const given = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined;

export function text(fields: Fields, name: string, most = 255): string {
  const value = optionalText(fields, name, most);
  if (value === undefined) throw invalidField(name, "is required");
  return value;
}

export function optionalText(fields: Fields, name: string, most = 255): string | undefined {
  const value = given(fields, name);
  if (value === undefined) return undefined;
  if (typeof value !== "string" || value === "" || value.length > most) {
    throw invalidField(name, `must be a text of 1 to ${most} characters`);
  }
  if (!canBeKept(value)) throw invalidField(name, "must be well-formed Unicode without a NUL");
  return value;
}

/** Any text, including an empty one; a long one is cut. */
export function words(fields: Fields, name: string, most = 10_000): string | undefined {
  const value = given(fields, name);
  return typeof value === "string" ? value.slice(0, most) : undefined;
}

export function oneOf<Word extends string>(fields: Fields, name: string, known: readonly Word[]): Word | undefined {
  const value = given(fields, name);
  if (value === undefined) return undefined;
  if (!known.includes(value as Word)) throw invalidField(name, `must be one of ${known.join(", ")}`);
  return value as Word;
}

export function whole(fields: Fields, name: string, least: number, most: number): number {
  const value = optionalWhole(fields, name, least, most);
  if (value === undefined) throw invalidField(name, "is required");
  return value;
}

export function optionalWhole(fields: Fields, name: string, least: number, most: number): number | undefined {
  const value = given(fields, name);
  if (value === undefined) return undefined;
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
    throw invalidField(name, `must be a whole number from ${least} to ${most}`);
  }
  return value as number;
}

export function flag(fields: Fields, name: string): boolean | undefined {
  const value = given(fields, name);
  if (value === undefined) return undefined;
  if (typeof value !== "boolean") throw invalidField(name, "must be true or false");
  return value;
}

export function object(fields: Fields, name: string): Fields | undefined {
  const value = given(fields, name);
  if (value === undefined) return undefined;
  // Some languages write an empty object as an empty list.
  if (Array.isArray(value) && value.length === 0) return {};
  if (!isFields(value)) throw invalidField(name, "must be an object");
  return value;
}

export function optionalTexts(fields: Fields, name: string, most = 1_000): string[] | undefined {
  const value = given(fields, name);
  if (value === undefined) return undefined;
  const isFine = Array.isArray(value) && value.length <= most && value.every((item) => typeof item === "string");
  if (!isFine) throw invalidField(name, `must be a list of at most ${most} texts`);
  return value as string[];
}

export function list(fields: Fields, name: string): unknown[] | undefined {
  const value = given(fields, name);
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw invalidField(name, "must be a list");
  return value;
}
