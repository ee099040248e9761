// How much a test does. `npm test` does what fits into some minutes; `npm run soak` does all of it, for those who have the time.

export const isSoak = process.env.LIMPET_SOAK === "1";

/** A number of rounds, seeds or things. */
export const effort = (usual: number, soak: number): number => (isSoak ? soak : usual);
