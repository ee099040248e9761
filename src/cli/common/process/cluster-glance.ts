// Reads the cluster state once after the start of a process, for its banner. Best effort: a start does not
// wait for it.

import type { App } from "../../../host/app.ts";
import type { ClusterView, HostStatus } from "../../../ports/host-admin.ts";
import { plural } from "../phrases.ts";

export interface ClusterGlance {
  /** The address of this process for other hosts. */
  readonly address: string;
  /** The fields below are known. */
  readonly joined: boolean;
  readonly term?: number;
  /** The leading scheduler. */
  readonly leader?: string;
  /** The leader is in this process. */
  readonly leaderHere?: boolean;
  /** Addresses of dedicated schedulers. */
  readonly dedicated?: readonly string[];
  /** Other hosts of the same namespace; hosts without types only call and do not count. */
  readonly otherHosts?: number;
}

const PATIENCE_MS = 500;

/** Undefined when the cluster is disabled. */
export async function glanceAtCluster({ host }: App): Promise<ClusterGlance | undefined> {
  const status = host.status();
  if (status.address === undefined) return undefined;
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), PATIENCE_MS);
  try {
    return glance(status, status.address, await Promise.race([host.cluster(), late.promise]));
  } catch {
    return glance(status, status.address, undefined);
  } finally {
    clearTimeout(timer);
  }
}

export function glance(status: HostStatus, address: string, view: ClusterView | undefined): ClusterGlance {
  if (view === undefined) return { address, joined: false };
  const ours = (one: { readonly address: string; readonly incarnation: string }): boolean =>
    one.incarnation === status.incarnation || one.address === address;
  const others = view.hosts.filter(
    (host) => host.namespace === status.namespace && host.state !== "evicted" && host.types.length > 0 && !ours(host),
  );
  const leader = view.schedulers.find((scheduler) => scheduler.leader);
  const leaderHere = status.scheduler?.leads ?? false;
  const dedicated = view.schedulers.filter((scheduler) => scheduler.dedicated).map((scheduler) => scheduler.address);
  const leading = { term: view.term, leader: leader?.address, leaderHere };
  return { address, joined: true, ...leading, dedicated, otherHosts: others.length };
}

/** A line for the banner of a host. */
export function clusterLine({ address, joined, leader, leaderHere, otherHosts = 0 }: ClusterGlance): string {
  if (!joined) return `${address}, not joined yet`;
  const who = otherHosts === 0 ? "1 host" : `joined ${plural(otherHosts, "other host")}`;
  if (leaderHere) return `${who}, leader here`;
  return leader === undefined ? who : `${who}, led by ${leader}`;
}
