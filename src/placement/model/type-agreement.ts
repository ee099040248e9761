// All hosts of a type must have the same settings: the rule for lost sticky actors, and the number of shards.
// Compares the report of one host with the reports of the others. Pure.
import { LIMITS } from "../../kernel/limits.ts";
import type { Hello, StickyRules } from "../../ports/control-messages.ts";
import type { ConnectionController, HostRecord } from "./connection-controller.ts";
import type { StickyOwners } from "./sticky-owners.ts";

export type TypeReport = Pick<Hello, "types" | "sticky" | "sharded">;

const NO_RULES: StickyRules = new Map();

/**
 * Reason why a host cannot join: other hosts report different settings for its types. Hosts that have not
 * connected yet do not count. A host recorded before this leader's term outweighs hosts that joined since: it
 * may hold actors of the type, and they cannot. Nothing of the type is granted while the leader waits for
 * that host.
 */
export function disagreementOf(
  incarnation: string,
  { types, sticky = NO_RULES, sharded }: TypeReport,
  connections: ConnectionController,
  owners: StickyOwners,
): string | undefined {
  const known = connections.host(incarnation);
  const isAwaited = (type: string): boolean => known?.state === "expected" && known.held.has(type);
  const counts = (host: HostRecord, type: string): boolean =>
    (host.types.has(type) || host.held.has(type)) && (!isAwaited(type) || host.unlocked.has(type));
  const others = otherHosts(incarnation, connections);
  const odd = owners.disagreement(types, sticky, (type) => others.some((host) => counts(host, type)));
  if (odd !== undefined) return odd;
  for (const type of types) {
    const other = others.find((host) => host.types.has(type) && counts(host, type));
    const [theirs, own] = [other?.sharded.get(type)?.shards, sharded?.get(type)?.shards];
    if (other === undefined || theirs === own) continue;
    const words = `its actors live in ${inShards(theirs)} on the other hosts and in ${inShards(own)} here`;
    return `${type}: ${words}; all hosts of a type must have the same setting`;
  }
  return undefined;
}

/** Applies the host's settings. Returns the hosts with different ones, each with a type. */
export function agreeOn(
  incarnation: string,
  { types, sticky = NO_RULES, sharded }: TypeReport,
  connections: ConnectionController,
  owners: StickyOwners,
): (readonly [host: HostRecord, type: string])[] {
  const others = otherHosts(incarnation, connections);
  owners.agree(types, sticky, (type) => others.some((host) => host.types.has(type) || host.held.has(type)));
  return others.flatMap((host) => {
    const isAtOdds = (type: string): boolean =>
      host.sticky.get(type) !== sticky.get(type) || host.sharded.get(type)?.shards !== sharded?.get(type)?.shards;
    const type = types.find((one) => host.types.has(one) && isAtOdds(one));
    return type === undefined ? [] : [[host, type] as const];
  });
}

export const tooManyTypes = ({ length }: readonly string[]): string =>
  `a host may report at most ${LIMITS.typesPerHost} types; got ${length}`;

/** The other hosts that have connected to this leader. */
function otherHosts(incarnation: string, connections: ConnectionController): HostRecord[] {
  return [...connections.hosts].filter((host) => host.incarnation !== incarnation && host.state !== "expected");
}

const inShards = (shards: number | undefined): string => (shards === undefined ? "no shards" : `${shards} shards`);
