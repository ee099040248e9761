// The limits of the house style: for each rule and area, how many findings the code may still have. They only
// fall; `node scripts/ratchets.ts --write` lowers them after a clean-up. A rule or area without a limit is
// clean.
import limits from "./limits.json" with { type: "json" };
import { findingsByArea, RULES, type sourceFiles } from "./rules.ts";

export type Limits = Readonly<Record<string, Readonly<Record<string, number>>>>;

export const LIMITS: Limits = limits;

/** One line for each area with more findings than its limit; empty when the code keeps to the style. */
export function excess(files: ReturnType<typeof sourceFiles>): string[] {
  return RULES.flatMap((rule) =>
    [...findingsByArea(rule, files)]
      .filter(([area, { found, free }]) => found.length > Math.max(LIMITS[rule.name]?.[area] ?? 0, free))
      .map(([area, { found, free }]) => {
        const limit = Math.max(LIMITS[rule.name]?.[area] ?? 0, free);
        const how = `node scripts/ratchets.ts --list "${rule.name}" --area ${area}`;
        return `${area}: ${found.length} ${rule.name}, limit ${limit}: ${rule.advice}; see \`${how}\``;
      }),
  );
}
