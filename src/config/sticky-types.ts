// The setting `sticky`: sticky types, as one of three words or by their names. Pure.

import { LIMITS } from "../kernel/limits.ts";
import { nameProblem } from "../kernel/names.ts";
import type { Option } from "./option.ts";

export const STICKY_WORDS = ["by class", "all", "none"] as const;
/** By their classes, all, none, or exactly these. */
export type StickyTypesSetting = (typeof STICKY_WORDS)[number] | readonly string[];

export const STICKY_OPTION: Option = {
  kind: "list",
  default: "by class",
  path: "sticky",
  env: "LIMPET_STICKY",
  flag: "sticky",
  placeholder: "types",
  help: "Which types are sticky: their actors stay on the host that first activated them. by class: the classes decide. all, none or a list of types overrides the classes.",
  breaks:
    "Hosts that disagree on whether a type is sticky cannot form a cluster. Sticky actors stay in memory, and a joining host takes none of them over.",
  choices: STICKY_WORDS,
  problem: typeProblem,
  whenEmpty: 'names no type; write "none" if no type is to be sticky',
};

function typeProblem(text: string): string | undefined {
  if ((STICKY_WORDS as readonly string[]).includes(text)) return "stands in the place of a list and not in one";
  return nameProblem(text, LIMITS.wordBytes);
}
