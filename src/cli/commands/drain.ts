// limpet drain <host>

import { ask } from "../ask.ts";
import type { Command } from "../command.ts";
import { EXIT, wrongUsage } from "../failure.ts";
import { resolveTarget, TARGET_FLAGS } from "../target.ts";
import { safe } from "../terminal.ts";

export const command: Command = {
  name: "drain",
  summary: "Have a host hand over its actors to the others",
  about:
    "Returns when the host has the request. It lets running turns end and hands over its actors; it keeps running and\n" +
    "forwards calls that still arrive. Any process of the cluster accepts the request.",
  arguments: [{ name: "host", help: "Its address or its name; limpet ps shows both." }],
  flags: TARGET_FLAGS,
  examples: ["limpet drain alpha", "limpet drain 10.0.0.5:40123"],
  async run(context) {
    const { terminal, json } = context;
    const host = context.args[0]!;
    if (host.trim() === "") throw wrongUsage("the host to drain is empty", "limpet ps shows the hosts.");
    const body = JSON.stringify({ host });
    await ask(resolveTarget(context), { verb: "POST", path: "/v1.0/control/drain", body });
    if (json) terminal.json({ host });
    else terminal.line(safe(`${host} hands over its actors. limpet ps shows how many are left.`));
    return EXIT.ok;
  },
};
