// Collects the workflows and activities that a module exports. Workflows are found like actors. Activities
// are only the export `activities`, because any function could be one. Pure.

import type { ActivityFunction } from "../../workflows/definition/context.ts";
import type { AnyWorkflow } from "../../workflows/definition/definition.ts";
import { Failure } from "../common/failure.ts";

const isWorkflow = (value: unknown): value is AnyWorkflow => {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 2) return false;
  const { name, run } = value as Partial<AnyWorkflow>;
  return typeof name === "string" && typeof run === "function";
};

/** Each workflow once. Throws when two of them have the same name. */
export function collectWorkflows(values: readonly unknown[], shown: string): AnyWorkflow[] {
  const found = new Map<string, AnyWorkflow>();
  for (const value of values) {
    if (!isWorkflow(value)) continue;
    if (found.has(value.name) && found.get(value.name) !== value) {
      throw new Failure("MODULE_INVALID", `${shown} exports two different workflows named ${value.name}`, {
        hint: 'Give one of them another name: workflow("…", async (ctx, input) => …)',
      });
    }
    found.set(value.name, value);
  }
  return [...found.values()];
}

export function readActivities(value: unknown, shown: string): Readonly<Record<string, ActivityFunction>> {
  if (value === undefined) return {};
  const isRecord = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isRecord && Object.values(value).every((each) => typeof each === "function")) {
    return value as Record<string, ActivityFunction>;
  }
  throw new Failure("MODULE_INVALID", `activities in ${shown} must be an object of functions`, {
    hint: "For example: export const activities = { charge, ship };",
  });
}
