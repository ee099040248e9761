// The cases of the area `workflows`.
import type { BenchCase, Figure } from "../case.ts";
import { IN_FLIGHT, p50At, p99At, rateAt } from "./figures.ts";

const PER_SECOND = { unit: "workflows/s", better: "higher" } as const;
const MILLISECONDS: Figure = { unit: "ms", better: "lower" };

const tenSteps: BenchCase = {
  name: "ten steps on PostgreSQL",
  figures: Object.fromEntries(
    IN_FLIGHT.flatMap((count): [string, Figure][] => [
      [rateAt(count), { ...PER_SECOND, goals: { peer: 2 } }],
      [p50At(count), MILLISECONDS],
      [p99At(count), MILLISECONDS],
    ]),
  ),
  ours: { module: "workflows/ours-ten.ts", make: "tenSteps", postgres: true },
  peers: [
    { name: "DBOS", module: "peers/dbos.mjs", make: "tenSteps", postgres: true },
    { name: "Restate", module: "peers/restate.mjs", make: "tenSteps" },
  ],
  steady: true,
};

export const workflowCases: readonly BenchCase[] = [tenSteps];
