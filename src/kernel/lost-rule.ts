// The rule for sticky actors of a lost host.

/**
 * `never`, or the milliseconds after which they may move to another host. Until then they are reserved for a
 * host of the same name.
 */
export type LostRule = "never" | number;
