// What `limpet scheduler` says when it is ready: where hosts find it, whether it leads, and how to join. Pure.

import { columns } from "../columns.ts";
import type { ClusterGlance } from "../process/cluster-glance.ts";
import { type Paint, safe } from "../terminal.ts";

export interface SchedulerReady {
  readonly version: string;
  readonly readyInMs: number;
  readonly url: string | undefined;
  readonly store: string;
  readonly cluster: ClusterGlance | undefined;
  /** What a host is started with to join. */
  readonly join: string | undefined;
  readonly needsKey: boolean;
}

export function schedulerBanner(ready: SchedulerReady, paint: Paint): string {
  const { version, readyInMs, url, store, cluster, join, needsKey } = ready;
  const places = [
    ...(cluster === undefined ? [] : [["Hosts", paint("cyan", safe(cluster.address))]]),
    ["Leads", safe(leads(cluster))],
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

function leads(cluster: ClusterGlance | undefined): string {
  if (cluster?.joined !== true) return "not known yet";
  if (cluster.leaderHere) return `yes, term ${cluster.term}`;
  return cluster.leader === undefined ? "nobody yet" : `no, ${cluster.leader} leads`;
}
