// One look at the cluster from a process that has just started, for its banner. Best effort: a start does not wait for it.

import type { App } from "../../host/app.ts";
import type { ClusterView, HostStatus } from "../../ports/host-admin.ts";
import { plural } from "../phrases.ts";

export interface ClusterGlance {
  /** Where others reach this process. */
  readonly address: string;
  /** What is below is known. */
  readonly joined: boolean;
  readonly term?: number | undefined;
  /** The leading scheduler. */
  readonly leader?: string | undefined;
  /** It is in this process. */
  readonly leaderHere?: boolean | undefined;
  /** Addresses of schedulers that are processes of their own. */
  readonly dedicated?: readonly string[] | undefined;
  /** Of the same namespace, besides this process; those that run no type only call. */
  readonly otherHosts?: number | undefined;
}

const PATIENCE_MS = 500;

/** Undefined when the process is alone by choice. */
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

/** As a line of the banner of a host. */
export function clusterLine({ address, joined, leader, leaderHere, otherHosts = 0 }: ClusterGlance): string {
  if (!joined) return `${address}, not joined yet`;
  const who = otherHosts === 0 ? "1 host" : `joined ${plural(otherHosts, "other host")}`;
  if (leaderHere) return `${who}, leader here`;
  return leader === undefined ? who : `${who}, led by ${leader}`;
}
