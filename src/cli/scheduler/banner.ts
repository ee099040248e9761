// The ready message of `limpet scheduler`: its address, its leadership, and the command to join. Pure.

import type { Settings } from "../../config/options.ts";
import { hostInUrl } from "../../config/places.ts";
import { columns } from "../common/columns.ts";
import type { ClusterGlance } from "../common/process/cluster-glance.ts";
import { type Paint, safe } from "../common/terminal.ts";

export interface SchedulerReady {
  readonly version: string;
  readonly readyInMs: number;
  readonly url: string | undefined;
  readonly store: string;
  /** The address for hosts. */
  readonly address: string | undefined;
  readonly cluster: ClusterGlance | undefined;
  /** The command that starts a host which joins. */
  readonly join: string | undefined;
  readonly needsKey: boolean;
}

export function schedulerBanner(ready: SchedulerReady, paint: Paint): string {
  const { version, readyInMs, url, store, address, join, needsKey } = ready;
  const places = [
    ...(address === undefined ? [] : [["Hosts", paint("cyan", safe(address))]]),
    ["Leads", safe(leads(ready))],
    ...(url === undefined
      ? [["HTTP", "off"]]
      : [
          ["HTTP", paint("cyan", url)],
          ["Metrics", paint("cyan", `${url}/metrics`)],
        ]),
    ["Store", safe(store)],
  ].map(([name, value]) => [paint("dim", name!), value!]);
  const lines = [
    `${paint("bold", "limpet scheduler")} ${version} is ready ${paint("dim", `(${readyInMs} ms after start)`)}`,
    "",
    ...columns([{}, {}], places).map((line) => `  ${line}`),
    "",
  ];
  if (join !== undefined) {
    const key = needsKey ? ", with one of the keys in LIMPET_CLUSTER_KEYS" : "";
    lines.push(
      `Hosts on the same store find it by themselves. To name it explicitly${key}:`,
      "",
      `  ${safe(join)}`,
      "",
    );
  }
  return [...lines, paint("dim", "Ctrl-C stops it.")].join("\n");
}

function leads({ cluster, address }: SchedulerReady): string {
  if (cluster?.joined !== true) return "not known yet";
  if (cluster.leaderHere || cluster.leader === address) return `yes, term ${cluster.term}`;
  return cluster.leader === undefined ? "no scheduler yet" : `no, ${cluster.leader} leads`;
}

/**
 * The address of this scheduler for hosts: the configured port, or with port 0 the only dedicated scheduler.
 */
export function ownAddress(
  { clusterHost, schedulerPort }: Pick<Settings, "clusterHost" | "schedulerPort">,
  cluster: ClusterGlance | undefined,
): string | undefined {
  if (schedulerPort !== 0) return `${hostInUrl(clusterHost)}:${schedulerPort}`;
  return cluster?.dedicated?.length === 1 ? cluster.dedicated[0] : undefined;
}
