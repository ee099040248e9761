// Removes one host from a plan, and everything that refers to it.
import type { Plan, PlannedFault } from "../plan.ts";

export function withoutHost(plan: Plan, name: string): Plan {
  const { workflows, deeds } = plan;
  const workers = Object.entries(workflows?.workers ?? {}).filter(([host]) => host !== name);
  return {
    ...plan,
    ...(workflows === undefined ? {} : { workflows: { ...workflows, workers: Object.fromEntries(workers) } }),
    ...(deeds === undefined ? {} : { deeds: deeds.filter(({ from }) => from !== name) }),
    hosts: plan.hosts.filter((host) => host.name !== name),
    calls: plan.calls.filter(({ from }) => from !== name),
    faults: plan.faults.flatMap((fault) => {
      const rest = without(fault, name);
      return rest === undefined ? [] : [rest as PlannedFault];
    }),
  };
}

/**
 * Removes the name from lists. Any other value with the name, or a list that becomes empty, makes the whole
 * entry invalid.
 */
function without(value: unknown, name: string): unknown {
  if (value === name) return undefined;
  if (Array.isArray(value)) {
    const rest = value.map((one) => without(one, name)).filter((one) => one !== undefined);
    return rest.length === 0 && value.length > 0 ? undefined : rest;
  }
  if (typeof value !== "object" || value === null) return value;
  const rest: Record<string, unknown> = {};
  for (const [key, detail] of Object.entries(value)) {
    const kept = without(detail, name);
    if (kept === undefined && detail !== undefined) return undefined;
    rest[key] = kept;
  }
  return rest;
}
