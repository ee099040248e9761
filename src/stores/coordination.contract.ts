// The contract of coordination on every store, as one suite: memory, SQLite and PostgreSQL all run it. It
// opens the store once, and each test begins after all earlier schedulers and members have left.
import { after, before, describe } from "node:test";
import { campaignersContract } from "./contract/campaigners.contract.ts";
import { clusterSecretContract } from "./contract/cluster-secret.contract.ts";
import type {
  CoordinationHarness,
  CoordinationOptions,
  OpenedCoordination,
} from "./contract/coordination-shared.contract.ts";
import { dedicatedContract } from "./contract/dedicated.contract.ts";
import { leadershipContract } from "./contract/leadership.contract.ts";
import { leadershipModelContract } from "./contract/leadership-model.contract.ts";
import { membersContract } from "./contract/members.contract.ts";
import { scheduleListContract } from "./contract/scheduler-list.contract.ts";

export type { CoordinationOptions, OpenedCoordination } from "./contract/coordination-shared.contract.ts";

/**
 * Registers the suite. `open` opens an empty store; it is called a few times, and each result is disposed of.
 */
export function coordinationContract(
  name: string,
  open: () => Promise<OpenedCoordination>,
  options: CoordinationOptions = {},
): void {
  describe(`contract of coordination on the ${name} store`, () => {
    let opened: OpenedCoordination | undefined;
    before(async () => {
      opened = await open();
    });
    after(async () => {
      await opened?.dispose();
    });
    const harness: CoordinationHarness = { open, opened: () => opened as OpenedCoordination };
    leadershipContract(harness);
    dedicatedContract(harness);
    scheduleListContract(harness);
    membersContract(harness);
    leadershipModelContract(harness, options);
    campaignersContract(harness);
    clusterSecretContract(harness);
  });
}
