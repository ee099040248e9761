// Formats the workflow workers, one line for each. Pure.

import type { WorkerSummary } from "../../ports/workflow-admin.ts";
import { type Column, columns, NOTHING } from "../common/columns.ts";
import { ago } from "../common/phrases.ts";
import { type Paint, safe } from "../common/terminal.ts";

const WORKERS: readonly Column[] = [
  { title: "WORKER" },
  { title: "QUEUE" },
  { title: "BUILD" },
  { title: "STATE" },
  { title: "SEEN" },
  { title: "IN MEMORY", align: "right" },
  { title: "HITS", align: "right" },
  { title: "MISSES", align: "right" },
  { title: "FORCED", align: "right" },
  { title: "EVICTED", align: "right" },
  { title: "TYPES" },
];

export function workersText(workers: readonly WorkerSummary[], now: number, paint: Paint): string[] {
  const rows = workers.map((one) => [
    safe(one.worker),
    safe(one.queue),
    safe(one.build) || NOTHING,
    !one.isLive ? paint("yellow", "stale") : one.isDraining ? "draining" : "active",
    ago(one.seenAt, now),
    one.isSticky ? `${one.size} of ${one.capacity}` : NOTHING,
    ...[one.hits, one.misses, one.forced, one.evictions].map(String),
    safe(one.types.join(", ")) || NOTHING,
  ]);
  const [titles, ...lines] = columns(WORKERS, rows);
  return [paint("dim", titles!), ...lines];
}
