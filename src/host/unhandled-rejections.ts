// The one listener of this process for promises that rejected without a handler. Parts of Limpet claim the
// rejections that are theirs. A rejection without a claim keeps Node's behaviour: another listener of the
// program gets it, or it ends the process.

/** Returns true for a rejection that it has dealt with. */
export type RejectionClaim = (reason: unknown, promise: Promise<unknown>) => boolean;

const claims = new Set<RejectionClaim>();

/** Returns how to withdraw the claim. */
export function claimRejections(claim: RejectionClaim): () => void {
  if (claims.size === 0) process.on("unhandledRejection", onRejection);
  claims.add(claim);
  return () => {
    if (claims.delete(claim) && claims.size === 0) process.off("unhandledRejection", onRejection);
  };
}

function onRejection(reason: unknown, promise: Promise<unknown>): void {
  for (const claim of claims) if (claim(reason, promise)) return;
  if (process.listenerCount("unhandledRejection") === 1 && endsProcess()) throw reason;
}

/** With another mode of Node an unhandled rejection is reported or ignored; `strict` never gets here. */
function endsProcess(): boolean {
  const flags = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? "").split(" ")];
  return flags.every((flag) => !/^--unhandled[-_]rejections=(warn|none)/.test(flag));
}
