// limpet drain <host>

import { askAdmin } from "../common/admin.ts";
import type { CliCommand } from "../common/command.ts";
import { EXIT, wrongUsage } from "../common/failure.ts";
import { resolveTarget, TARGET_FLAGS } from "../common/target.ts";
import { safe } from "../common/terminal.ts";

export const drainCommand: CliCommand = {
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
    await askAdmin(resolveTarget(context), { kind: "drain", host });
    if (json) terminal.json({ host });
    else terminal.line(safe(`${host} hands over its actors. limpet ps shows how many are left.`));
    return EXIT.ok;
  },
};
