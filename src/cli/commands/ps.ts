// limpet ps

import type { ClusterView } from "../../ports/host-admin.ts";
import { askJson } from "../ask.ts";
import type { Command } from "../command.ts";
import { EXIT } from "../failure.ts";
import { resolveTarget, TARGET_FLAGS } from "../target.ts";
import { clusterText } from "../text/cluster-text.ts";

export const command: Command = {
  name: "ps",
  summary: "Show the schedulers, the hosts and the tables of the cluster",
  about: "Any process of the cluster can answer; it requests the leading scheduler.",
  arguments: [],
  flags: TARGET_FLAGS,
  examples: ["limpet ps", "limpet ps --url http://10.0.0.5:7300 --json"],
  async run(context) {
    const { terminal, json } = context;
    const view = await askJson<ClusterView>(resolveTarget(context), { verb: "GET", path: "/v1.0/inspect/cluster" });
    if (json) terminal.json(view);
    else terminal.line(clusterText(view, terminal.paint));
    if (!json && view.hosts.length === 0) terminal.errLine("There are no hosts. Start one with: limpet dev app.ts");
    return EXIT.ok;
  },
};
