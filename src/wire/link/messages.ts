// Message formats of a link. A frame is its length in four bytes, big-endian, and one MessagePack array of
// messages. A message is a flat array that begins with its kind. MessagePack values are only nil, booleans,
// numbers, strings and arrays.
//
//   hello      protocol, namespace, address, version     the first frame of either side, the caller's first
//   call       number, type, id, method, timeoutMs, args [, hops, passOn, causes]
//   cancel     number                                     the caller no longer waits
//   value      number [, result]                          a primitive; none is undefined
//   text       number, result                             in the encoding of kernel/values.ts
//   error      number, error                              JSON, see kernel/serialized-error.ts
//   notOwner   number, term, version, owner or nil
//   givenUp    number                                     the final answer to a cancelled call
//   ping, pong                                            request for a sign of life, and its answer
//   bye                                                   send no more calls, and leave after the last answer
//
// Arguments are an array of primitives, or text. Each call gets exactly one final answer (value, text, error,
// notOwner or givenUp). Only then may its number stand for another call, so a late answer never reaches the
// wrong call.

/** Raised when old and new hosts could not understand each other. */
export const PROTOCOL = 1;

export const FRAME_KIND = {
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

/**
 * Values that MessagePack carries exactly: null, booleans, numbers of every kind, and well-formed strings.
 */
export type Primitive = null | boolean | number | string;
