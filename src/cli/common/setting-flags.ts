// Defines a flag for every setting, from the table of options.

import { OPTIONS, SETTING_KEYS } from "../../config/options.ts";
import { shownDefault } from "../../config/options-table.ts";
import type { Flag } from "./command.ts";

export const CONFIG_FLAG: Flag = {
  name: "config",
  kind: "text",
  placeholder: "file",
  help: "Read this file instead of limpet.yaml.",
};

export const SETTING_FLAGS: readonly Flag[] = [
  CONFIG_FLAG,
  ...SETTING_KEYS.map((key): Flag => {
    const option = OPTIONS[key];
    const kind = option.kind === "yes/no" ? "yes/no" : option.kind === "list" ? "list" : "text";
    const shown = shownDefault(option);
    const fallback = shown === "none" || kind === "yes/no" ? "" : ` Default ${shown}.`;
    return { name: option.flag, kind, placeholder: option.placeholder, help: `${option.help}${fallback}` };
  }),
];
