// Forgets the number of shards of a type, so that its next host can set it anew. Allowed only while the type
// has no host: an existing host would continue with the old rule, and one actor could run in two places.
import { LimpetError } from "../../kernel/errors.ts";
import type { ProcessIdentity } from "../../ports/store/coordination.ts";
import type { Store } from "../../ports/store/store.ts";
import { namesOf } from "../model/steering-rows.ts";

/**
 * `hasEnded`: true only if the process has certainly ended. Rejects with NOT_READY while a host of the type
 * may exist.
 */
export async function resetShards(
  { coordination, shards }: Pick<Store, "coordination" | "shards">,
  namespace: string,
  type: string,
  hasEnded: (process: ProcessIdentity) => boolean,
): Promise<void> {
  const ended = (await coordination.members()).filter(hasEnded).map(({ incarnation }) => incarnation);
  for (const name of namesOf(type)) {
    // The store checks its members again in the transaction that forgets: a host may have joined since.
    if (await shards.reset(namespace, name, ended)) continue;
    const hosts = (await coordination.members()).filter(
      (member) => member.namespace === namespace && member.types.includes(type) && !ended.includes(member.incarnation),
    );
    const addresses = hosts.map(({ address }) => address).join(", ");
    throw new LimpetError("NOT_READY", `${type} has hosts, or had until a moment ago: ${addresses}; stop them first`);
  }
}
