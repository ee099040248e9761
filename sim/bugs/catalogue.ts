// The list of known bugs. The share of them that the simulator finds measures its strength.
import type { Bug } from "./bug.ts";
import { CALLS } from "./calls.ts";
import { CONTROL_PLANE_STUCK } from "./control-plane-stuck.ts";
import { LATE_MESSAGES } from "./late-messages.ts";
import { OWNERSHIP_OVERLAP } from "./ownership-overlap.ts";
import { REJECTED_DESIGNS } from "./rejected-designs.ts";
import { REJECTED_LEASES } from "./rejected-leases.ts";
import { REMINDER_STORE } from "./reminder-store.ts";
import { REMINDERS } from "./reminders.ts";
import { SHARD_CODE } from "./shard-code.ts";
import { SHARDS } from "./shards.ts";
import { STICKY } from "./sticky.ts";
import { STORE } from "./store.ts";
import { WORKFLOWS } from "./workflows.ts";

export const BUGS: readonly Bug[] = [
  ...OWNERSHIP_OVERLAP,
  ...REJECTED_DESIGNS,
  ...REJECTED_LEASES,
  ...CONTROL_PLANE_STUCK,
  ...STORE,
  ...CALLS,
  ...STICKY,
  ...REMINDER_STORE,
  ...REMINDERS,
  ...WORKFLOWS,
  ...SHARDS,
  ...SHARD_CODE,
  ...LATE_MESSAGES,
];

export const bugNamed = (name: string): Bug | undefined => BUGS.find((bug) => bug.name === name);
