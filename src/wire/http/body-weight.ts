// Measures a JSON body in one pass before anything is parsed. Pure.
//
// Memory: three bytes of `{},` become more than a hundred when they are parsed and copied for an actor, so
// the budget charges bodies by this weight and not by their length alone.
//
// Time: the event loop stands still while a body is parsed, copied and encoded again. Items of lists cost
// little. Objects, lists and properties cost about 1 µs each, and properties with a new name several times
// as much: each new name needs another layout, or a hash table. A body with too many of them is refused.
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";

/** An empty object or array, parsed and copied. */
const CONTAINER_BYTES = 112;
/** An item of an array, or half of a property: the slot, or the number or short text in it. */
const SEPARATOR_BYTES = 32;

export interface BodyMeasure {
  /** Estimated memory of the values, beyond the bytes of the body. */
  readonly weight: number;
  /** Objects, lists and properties. */
  readonly parts: number;
  /** Different names of properties, or slightly fewer: two names with the same hash count once. */
  readonly names: number;
}

/** Different in each process, so that no client can prepare names that all have one hash. */
const SEED = (Math.random() * 0x7fff_ffff) | 0;
const NAME_BITS = 22;
/** Bodies with fewer properties need no count of their names. */
const FEW = 1_000;

/** Text that is not JSON gets an arbitrary measure; the parser rejects it. */
export function measureBody(json: Buffer): BodyMeasure {
  let containers = 0;
  let commas = 0;
  let properties = 0;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i];
    if (byte === 0x22 /* " */) i = endOfText(json, i);
    else if (byte === 0x2c /* , */) commas++;
    else if (byte === 0x3a /* : */) properties++;
    else if (byte === 0x5b /* [ */ || byte === 0x7b /* { */) containers++;
  }
  return {
    weight: containers * CONTAINER_BYTES + (commas + properties) * SEPARATOR_BYTES,
    parts: containers + properties,
    names: properties < FEW ? properties : countNames(json),
  };
}

/** Position of the closing quote of the text that begins at `start`. */
function endOfText(json: Buffer, start: number): number {
  let i = start + 1;
  for (; i < json.length && json[i] !== 0x22; i++) if (json[i] === 0x5c /* \ */) i++;
  return i;
}

/** A text is the name of a property when a colon follows. */
function countNames(json: Buffer): number {
  const seen = new Uint8Array(2 ** (NAME_BITS - 3));
  let names = 0;
  let hash = 0;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]!;
    if (byte === 0x22) {
      const end = endOfText(json, i);
      hash = hashOf(json, i + 1, end);
      i = end;
    } else if (byte === 0x3a) {
      const [place, bit] = [hash >>> 3, 1 << (hash & 7)];
      if ((seen[place]! & bit) === 0) names++;
      seen[place]! |= bit;
    }
  }
  return names;
}

/** FNV-1a with a seed, folded to NAME_BITS. */
function hashOf(json: Buffer, from: number, to: number): number {
  let hash = SEED;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ json[i]!, 0x0100_0193);
  return (hash ^ (hash >>> NAME_BITS)) & (2 ** NAME_BITS - 1);
}

/** Throws BODY_TOO_LARGE when parsing the body would block the event loop for too long. */
export function checkBodyParts({ parts, names }: BodyMeasure): void {
  const { httpBodyParts, httpBodyNames } = LIMITS;
  if (parts > httpBodyParts) {
    const what = `the body has ${parts} objects, lists and properties; the limit is ${httpBodyParts}`;
    throw new LimpetError("BODY_TOO_LARGE", `${what}; send it in several calls`);
  }
  if (names > httpBodyNames) {
    const what = `the body has ${names} different names of properties; the limit is ${httpBodyNames}`;
    throw new LimpetError("BODY_TOO_LARGE", `${what}; send a list of pairs instead, or several calls`);
  }
}
