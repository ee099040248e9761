// Maps words of the port to the short numbers in the tables.

import type { ReplayMode, RunStatus, StoredTask } from "../../../ports/store/workflows.ts";
import { LEASED } from "../../task-states.ts";

const STATUSES = ["running", "completed", "failed", "cancelled", "terminated", "timed out", "continued"] as const;
const MODES = ["sticky_hit_expected", "cold_replay", "forced_cold_replay"] as const;
const STATES = ["idle", "ready", "leased"] as const;

export const RUNNING = 0;
export const COMPLETED = STATUSES.indexOf("completed");
export const ALL_STATUSES: readonly number[] = STATUSES.map((_, code) => code);

/**
 * Lost attempts at a task, as SQL, including the attempt of an expired lease. A task that was completed since
 * has none. The count of attempts shows that, so a step need not write it.
 */
export const LOST_ATTEMPTS = `min(lost, attempt - (state = ${LEASED})) + (state = ${LEASED})`;

export const statusCode = (status: RunStatus): number => STATUSES.indexOf(status);
export const statusOf = (code: number): RunStatus => STATUSES[code] as RunStatus;
export const modeCode = (mode: ReplayMode): number => MODES.indexOf(mode);
export const replayModeOf = (code: number): ReplayMode => MODES[code] as ReplayMode;
export const stateOf = (code: number): StoredTask["state"] => STATES[code] as StoredTask["state"];
