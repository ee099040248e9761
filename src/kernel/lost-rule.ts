// What happens to sticky actors whose host is lost.

/** `never`, or after so many milliseconds, they may live on another host. Until then they are kept for one of the same name. */
export type LostRule = "never" | number;
