// The smallest valid plan: for tests of the code around runs.
import type { Plan, PlannedHost } from "../plan.ts";

export const smallHost = (name: string): PlannedHost => ({
  name,
  machine: `machine-of-${name}`,
  namespace: "default",
  types: ["Ledger"],
  dedicated: false,
  watches: false,
  clock: {},
  startsAt: 0,
});

export const SMALL_PLAN: Plan = {
  seed: 1,
  hosts: [smallHost("host-1"), smallHost("host-2")],
  settings: {},
  latency: { leastMs: 0.2, moreMs: 0.5 },
  chaosMs: 5_000,
  calls: [{ at: 1_000, from: "host-1", type: "Ledger", id: "a", method: "append", how: {}, timeoutMs: 1_000 }],
  faults: [],
};
