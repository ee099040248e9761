// Derives the codec of a message from one table for both directions. A row names a field of a port's message
// and the codec of its value. The generated field has the same name, unless the row gives another one. The
// compiler requires a row for every field, and a codec that fits both sides.
import { create, type Message } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { refuseMessage } from "./value-codecs.ts";

/** Converts a value. `write` asserts an own value; `read` checks a value of another process. */
export interface Codec<T, W> {
  readonly write: (value: T) => W;
  readonly read: (wire: W) => T;
  /** A value that `read` returns as undefined becomes no property of the message. */
  readonly omits?: true;
}

/** Converts a value that several generated fields hold. */
export interface Part<T, M> {
  readonly put: (message: M, value: T) => void;
  readonly take: (message: M) => T;
}

/** The name of a generated field, and the codec of its value. */
type Named<T, M> = { [N in keyof M]-?: readonly [N, Codec<T, M[N]>] }[keyof M];

export type Rows<T, M> = {
  readonly [K in keyof T]-?: (K extends keyof M ? Codec<T[K], M[K]> : never) | Named<T[K], M> | Part<T[K], M>;
};

type Values = Record<string, unknown>;

/** A row. All rows have the same properties in the same order, which makes the loops over them fast. */
interface Field {
  readonly key: string;
  readonly name: string;
  readonly write: (value: unknown) => unknown;
  readonly read: (wire: unknown) => unknown;
  readonly omits: boolean;
  readonly part: Part<unknown, Values> | undefined;
}

function fieldOf([key, row]: [string, unknown]): Field {
  const [name, codec] = (Array.isArray(row) ? row : [key, row]) as [string, Codec<unknown, unknown>];
  const { write, read, omits = false } = codec;
  return { key, name, write, read, omits, part: "put" in codec ? (row as Part<unknown, Values>) : undefined };
}

function put(fields: readonly Field[], message: Values, value: Values): void {
  for (const { key, name, write, part } of fields) {
    if (part === undefined) {
      const wire = write(value[key]);
      if (wire !== undefined) message[name] = wire;
    } else part.put(message, value[key]);
  }
}

/** Adds the fields to `value`, which belongs to the caller. */
function take(fields: readonly Field[], message: Values, value: Values): unknown {
  for (const { key, name, read, omits, part } of fields) {
    const field = part === undefined ? read(message[name]) : part.take(message);
    if (field !== undefined || !omits) value[key] = field;
  }
  return value;
}

/** Some fields of a generated message as one value. */
export function part<T, M>(rows: Rows<NoInfer<T>, NoInfer<M>>): Part<T, M> {
  const fields = Object.entries(rows).map(fieldOf);
  return {
    put: (message, value) => put(fields, message as Values, value as Values),
    take: (message) => take(fields, message as Values, {}) as T,
  };
}

/** A message. The fields of the message in `inner` belong to the same value: there is no object between. */
export function message<T, M extends Message, N extends keyof M = never, I = unknown>(
  schema: GenMessage<M>,
  rows: Rows<NoInfer<Omit<T, keyof I>>, M>,
  inner?: readonly [N, Codec<I, M[N]>],
): Codec<T, M> {
  const fields = Object.entries(rows).map(fieldOf);
  return {
    write(value) {
      const message = create(schema) as M;
      if (inner !== undefined) message[inner[0]] = inner[1].write(value as unknown as I);
      put(fields, message as unknown as Values, value as Values);
      return message;
    },
    read(message) {
      const value = inner === undefined ? {} : inner[1].read(message[inner[0]]);
      return take(fields, message as unknown as Values, value as Values) as T;
    },
  };
}

type Case<T, O> = O extends { case: infer C extends string; value: infer W } ? readonly [C, Codec<T, W>] : never;

/** The case of a generated `oneof` for each kind of message, and the message without its kind. */
export type Cases<U extends { readonly kind: string }, O> = {
  readonly [K in U["kind"]]: Case<Omit<Extract<U, { readonly kind: K }>, "kind">, O>;
};

/** A `oneof`. `unknown` is the error for any other case. */
export function union<U extends { readonly kind: string }, O extends { case: string | undefined; value?: unknown }>(
  cases: Cases<U, O>,
  unknown: string,
): Codec<U, O> {
  const entries = Object.entries(cases as Record<string, readonly [string, Codec<object, unknown>]>);
  const rows = entries.map(([kind, [name, { write, read }]]) => ({ kind, name, write, read }));
  const byKind = new Map(rows.map((row) => [row.kind, row]));
  const byCase = new Map(rows.map((row) => [row.name, row]));
  return {
    write(message) {
      const { name, write } = byKind.get(message.kind)!;
      return { case: name, value: write(message) } as unknown as O;
    },
    read(oneof) {
      const row = byCase.get(oneof.case!);
      if (row === undefined) return refuseMessage(unknown);
      const message = row.read(oneof.value) as { kind?: string };
      message.kind = row.kind;
      return message as unknown as U;
    },
  };
}

/** A value with a single field, where the generated message has only its value. */
export const only = <K extends string, T, W>(
  key: K,
  { write, read }: Codec<T, W>,
): Codec<{ readonly [k in K]: T }, W> => ({
  write: (value) => write(value[key]),
  read: (wire) => ({ [key]: read(wire) }) as { readonly [k in K]: T },
});
