// The ready message of `limpet dev`: the addresses, the types, and commands to try. Pure.

import { columns } from "../common/columns.ts";
import { type ClusterGlance, clusterLine } from "../common/process/cluster-glance.ts";
import { type Paint, safe } from "../common/terminal.ts";

export interface Ready {
  readonly version: string;
  readonly readyInMs: number;
  readonly url: string | undefined;
  readonly store: string;
  readonly namespace: string;
  readonly actorTypes: readonly string[];
  readonly workflowTypes: readonly string[];
  /** Undefined when the cluster is disabled. */
  readonly cluster: ClusterGlance | undefined;
  readonly tryThese: readonly string[];
  readonly needsToken: boolean;
}

export function banner(ready: Ready, paint: Paint): string {
  const { version, readyInMs, url, store, namespace, actorTypes, workflowTypes, cluster, tryThese, needsToken } = ready;
  const places = [
    ...(url === undefined
      ? [["HTTP", "off"]]
      : [
          ["HTTP", paint("cyan", url)],
          ["About", paint("cyan", `${url}/v1.0/metadata`)],
          ["Metrics", paint("cyan", `${url}/metrics`)],
        ]),
    ["Store", safe(store)],
    ...(namespace === "default" ? [] : [["Namespace", safe(namespace)]]),
    ...(actorTypes.length === 0 ? [] : [["Actors", safe(actorTypes.join(", "))]]),
    ...(workflowTypes.length === 0 ? [] : [["Workflows", safe(workflowTypes.join(", "))]]),
    ...(cluster === undefined ? [] : [["Cluster", safe(clusterLine(cluster))]]),
  ].map(([name, value]) => [paint("dim", name!), value!]);
  const lines = [
    `${paint("bold", "limpet")} ${version} is ready ${paint("dim", `(${Math.round(readyInMs)} ms after start)`)}`,
    "",
    ...columns([{}, {}], places).map((line) => `  ${line}`),
    "",
  ];
  if (url !== undefined && tryThese.length > 0) {
    lines.push(`Try in another terminal${needsToken ? ", with one of the tokens in LIMPET_TOKEN" : ""}:`, "");
    lines.push(...tryThese.map((command) => `  ${safe(command)}`), "");
  }
  return [...lines, paint("dim", "Ctrl-C stops it.")].join("\n");
}

/** Adapts commands to this process: the name of the executable and the URL. */
export function localCommands(
  commands: readonly string[],
  own: string,
  url: string | undefined,
  usual: string,
): string[] {
  return commands.map((command) => {
    if (!command.startsWith("limpet ")) return command;
    const elsewhere = url === undefined || url === usual || / --url\b/.test(command) ? "" : ` --url ${url}`;
    return `${own}${command.slice("limpet".length)}${elsewhere}`;
  });
}
