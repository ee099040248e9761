// Names of the figures of sticky actors, shared by cases and contenders.

/** Warm calls: the rate of sticky ones, the rate of those placed by hash, and their ratio. */
export const WARM_FIGURES = ["sticky", "by hash", "sticky divided by hash"] as const;

export const p50At = (inFlight: number): string => `${load(inFlight)}, p50`;
export const p99At = (inFlight: number): string => `${load(inFlight)}, p99`;

const load = (inFlight: number): string => (inFlight === 1 ? "one at a time" : `${inFlight} in flight`);

export const ACQUISITIONS = "acquisitions";
export const LEADER_TIME = "processor time of the leader for each";

export const DRAINED_BY_STAYING = "actors drained by hosts that stay";
export const DRAINED_BY_LEAVING = "actors drained by hosts that leave";

export const UNTIL_GRANTS = "from the first welcome to the first grant";
export const LEADER_TOTAL = "processor time of the leader";
