// The words of a link. A frame is its length in four bytes, big-endian, and one MessagePack array of messages; a message
// is a flat array that begins with its kind. Of MessagePack only nil, booleans, numbers, strings and arrays occur.
//
//   hello      protocol, namespace, address, version     the first frame of either side, alone in it; the caller's comes first
//   call       number, type, id, method, timeoutMs, args [, hops, passOn, causes]
//   cancel     number                                     nobody waits any more
//   value      number [, result]                          a primitive; none is undefined
//   text       number, result                             in the encoding of kernel/values.ts
//   error      number, told                               JSON, see kernel/serialized-error.ts
//   notOwner   number, term, version, owner or nil
//   givenUp    number                                     the last word on a cancelled call
//   ping, pong                                            a sign of life, asked for and given
//   bye                                                   send nothing more, and go when you have your answers
//
// Arguments are an array of primitives, or text. Each call gets exactly one last word (value, text, error, notOwner or
// givenUp), and only then its number may be used for another call, so a late word never meets the wrong call.

/** Raised when hosts of the old and the new kind could not understand each other. */
export const PROTOCOL = 1;

export const KIND = {
  hello: 0,
  call: 1,
  cancel: 2,
  value: 3,
  text: 4,
  error: 5,
  notOwner: 6,
  givenUp: 7,
  ping: 8,
  pong: 9,
  bye: 10,
} as const;

/** What MessagePack carries exactly: null, booleans, numbers of every kind, and strings that are well-formed. */
export type Primitive = null | boolean | number | string;
