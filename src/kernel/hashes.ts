// Hashes names to 64 bits: the first eight bytes, little-endian, of BLAKE2b-512 of the UTF-8 text. A hash is
// two unsigned 32-bit halves and never a BigInt, because it is computed for every actor lookup.
import { hash } from "node:crypto";

/**
 * Writes the upper half to `into[at]` and the lower half to `into[at + 1]`. The caller keeps the array, so
 * that only the digest is allocated here. One byte per character is the cheapest digest: a Buffer costs more
 * than the hash itself.
 */
export function hash64(text: string, into: Uint32Array, at = 0): void {
  const digest = hash("blake2b512", text, "binary");
  into[at] = littleEndian(digest, 4);
  into[at + 1] = littleEndian(digest, 0);
}

/** May be negative; an unsigned array corrects it. */
function littleEndian(digest: string, at: number): number {
  return (
    digest.charCodeAt(at) |
    (digest.charCodeAt(at + 1) << 8) |
    (digest.charCodeAt(at + 2) << 16) |
    (digest.charCodeAt(at + 3) << 24)
  );
}
