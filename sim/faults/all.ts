// The list of all faults.
import * as awkwardMoments from "./awkward-moments.ts";
import * as clocks from "./clocks.ts";
import * as controlPlane from "./control-plane.ts";
import * as databaseWays from "./database-ways.ts";
import type { Fault } from "./fault.ts";
import * as lateMessages from "./network/late-messages.ts";
import * as lateMoves from "./network/late-moves.ts";
import * as lines from "./network/lines.ts";
import * as partitions from "./network/partitions.ts";
import * as streams from "./network/streams.ts";
import * as operators from "./operators.ts";
import * as processes from "./processes.ts";
import * as reminders from "./reminders.ts";
import * as shards from "./shards/family.ts";
import * as starts from "./starts.ts";
import * as sticky from "./sticky.ts";
import * as store from "./store.ts";
import * as types from "./types.ts";
import * as userCode from "./user-code.ts";
import * as workflows from "./workflows.ts";

const FAMILIES: readonly object[] = [
  ...[processes, awkwardMoments, starts, operators, types, userCode],
  ...[lines, partitions, streams],
  ...[clocks, store, databaseWays, controlPlane, sticky, reminders, workflows, shards],
  ...[lateMessages, lateMoves],
];

/** A module exports its faults, and perhaps helpers for others. */
const isFault = (exported: unknown): exported is Fault =>
  typeof exported === "object" && exported !== null && "happen" in exported;

export const FAULTS: readonly Fault[] = FAMILIES.flatMap((family) => Object.values(family).filter(isFault));
