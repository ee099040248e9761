// limpet where <type> <id>

import { checkId, checkType } from "../../kernel/names.ts";
import type { Whereabouts } from "../../ports/host-admin.ts";
import { askJson } from "../ask.ts";
import type { Command } from "../command.ts";
import { asUsage, EXIT } from "../failure.ts";
import { resolveTarget, TARGET_FLAGS } from "../target.ts";
import { whereaboutsText } from "../text/whereabouts-text.ts";

export const command: Command = {
  name: "where",
  summary: "Show the host of an actor, and why",
  about: "Shows the view of the requested process. The actor need not exist yet.",
  arguments: [
    { name: "type", help: "The actor's type, such as Cart." },
    { name: "id", help: "The actor's id." },
  ],
  flags: TARGET_FLAGS,
  examples: ["limpet where Cart alice", "limpet where Cart alice --json"],
  async run(context) {
    const { terminal, json } = context;
    const [type, id] = context.args as [string, string];
    asUsage(() => {
      checkType(type);
      checkId(id);
    });
    const path = `/v1.0/inspect/where/${encodeURIComponent(type)}/${encodeURIComponent(id)}`;
    const whereabouts = await askJson<Whereabouts>(resolveTarget(context), { verb: "GET", path });
    if (json) terminal.json(whereabouts);
    else terminal.line(whereaboutsText(whereabouts, Date.now(), terminal.paint));
    return EXIT.ok;
  },
};
