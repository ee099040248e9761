// Extent of tests. `npm test` runs the part that fits into some minutes; `npm run soak` runs all of it.

export const isSoak = process.env.LIMPET_SOAK === "1";

/** A number of rounds, seeds or items. */
export const effort = (usual: number, soak: number): number => (isSoak ? soak : usual);
