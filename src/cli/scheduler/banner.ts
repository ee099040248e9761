// What `limpet scheduler` says when it is ready: where hosts find it, whether it leads, and how to join. Pure.

import type { Settings } from "../../config/options.ts";
import { hostInUrl } from "../../config/places.ts";
import { columns } from "../columns.ts";
import type { ClusterGlance } from "../process/cluster-glance.ts";
import { type Paint, safe } from "../terminal.ts";

export interface SchedulerReady {
  readonly version: string;
  readonly readyInMs: number;
  readonly url: string | undefined;
  readonly store: string;
  /** Where hosts reach it. */
  readonly address: string | undefined;
  readonly cluster: ClusterGlance | undefined;
  /** What a host is started with to join. */
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
    lines.push(`Hosts on the same store find it by themselves. Named outright${key}:`, "", `  ${safe(join)}`, "");
  }
  return [...lines, paint("dim", "Ctrl-C stops it.")].join("\n");
}

function leads({ cluster, address }: SchedulerReady): string {
  if (cluster?.joined !== true) return "not known yet";
  if (cluster.leaderHere || cluster.leader === address) return `yes, term ${cluster.term}`;
  return cluster.leader === undefined ? "nobody yet" : `no, ${cluster.leader} leads`;
}

/** Where hosts reach this scheduler: the port that was set, or, where any would do, the only dedicated one there is. */
export function ownAddress(
  { clusterHost, schedulerPort }: Pick<Settings, "clusterHost" | "schedulerPort">,
  cluster: ClusterGlance | undefined,
): string | undefined {
  if (schedulerPort !== 0) return `${hostInUrl(clusterHost)}:${schedulerPort}`;
  return cluster?.dedicated?.length === 1 ? cluster.dedicated[0] : undefined;
}
