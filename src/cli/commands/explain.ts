// limpet explain <type> <id>

import { checkId, checkType } from "../../kernel/names.ts";
import type { Explanation } from "../../ports/host-admin.ts";
import { askJson } from "../ask.ts";
import type { Command } from "../command.ts";
import { asUsage, EXIT } from "../failure.ts";
import { resolveTarget, TARGET_FLAGS } from "../target.ts";
import { explanationText } from "../text/explanation-text.ts";

export const command: Command = {
  name: "explain",
  summary: "Show the work of one actor, and what it waits for",
  arguments: [
    { name: "type", help: "The actor's type, such as Cart." },
    { name: "id", help: "The actor's id." },
  ],
  flags: TARGET_FLAGS,
  examples: ["limpet explain Cart alice", "limpet explain Cart alice --json"],
  async run(context) {
    const { terminal, json } = context;
    const [type, id] = context.args as [string, string];
    asUsage(() => {
      checkType(type);
      checkId(id);
    });
    const path = `/v1.0/inspect/actors/${encodeURIComponent(type)}/${encodeURIComponent(id)}`;
    const explanation = await askJson<Explanation>(resolveTarget(context), { verb: "GET", path });
    if (json) terminal.json(explanation);
    else terminal.line(explanationText(explanation, Date.now(), terminal.paint));
    return EXIT.ok;
  },
};
