// The command that starts `limpet` here: the bare name when it is on the path permanently, with npx
// otherwise.

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Env } from "../common/terminal.ts";

export function ownCommand(env: Env): string {
  // npm puts node_modules/.bin on the path of its scripts only; another terminal does not have it.
  const folders = (env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "" && !/node_modules[/\\]\.bin$/.test(folder));
  const names = process.platform === "win32" ? ["limpet.cmd", "limpet.ps1"] : ["limpet"];
  const installed = folders.some((folder) => names.some((name) => existsSync(join(folder, name))));
  return installed ? "limpet" : "npx limpet";
}
