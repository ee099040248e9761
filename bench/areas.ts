// Every area of the benchmarks, in the order they run. A new benchmark joins its area's list.
import { actorCases } from "./actors/cases.ts";
import type { BenchCase } from "./case.ts";
import { clusterCases } from "./cluster/cases.ts";
import { reminderCases } from "./reminders/cases.ts";
import { shardingCases } from "./sharding/cases.ts";
import { simulationCases } from "./simulation/cases.ts";
import { stickyCases } from "./sticky/cases.ts";
import { workflowCases } from "./workflows/cases.ts";

export const AREAS: Readonly<Record<string, readonly BenchCase[]>> = {
  actors: actorCases,
  cluster: clusterCases,
  simulation: simulationCases,
  sticky: stickyCases,
  reminders: reminderCases,
  workflows: workflowCases,
  sharding: shardingCases,
};
