// Ids of actors as users have them: 16 to 24 characters, a different one for each number.

const SPREAD = 0x9e3779b1;

/** `cart-`, the number, and a part that spreads over the alphabet. */
export function idOf(number: number): string {
  const scattered = (Math.imul(number + 1, SPREAD) >>> 0).toString(36).padStart(7, "0");
  return `cart-${number.toString(36)}-${scattered}${"0123456789".slice(0, number % 5)}`.padEnd(16, "x");
}
