// The contract of workflows on every store, as one suite: memory, SQLite and PostgreSQL all run it. It opens
// the store once and gives each test a namespace of its own, so a slow store is slow only once.
import { after, before, describe } from "node:test";
import { workflowBuildsContract } from "./contract/workflows-builds.contract.ts";
import { workflowClaimsContract } from "./contract/workflows-claims.contract.ts";
import { workflowClosingContract } from "./contract/workflows-closing.contract.ts";
import { workflowCommitsContract } from "./contract/workflows-commits.contract.ts";
import { workflowContinuingContract } from "./contract/workflows-continuing.contract.ts";
import { workflowCrowdContract } from "./contract/workflows-crowd.contract.ts";
import { workflowDeliveryContract } from "./contract/workflows-delivery.contract.ts";
import { workflowEndsContract } from "./contract/workflows-ends.contract.ts";
import { workflowLeasesContract } from "./contract/workflows-leases.contract.ts";
import { workflowLostContract } from "./contract/workflows-lost.contract.ts";
import { workflowModelContract } from "./contract/workflows-model.contract.ts";
import { workflowReadingContract } from "./contract/workflows-reading.contract.ts";
import { workflowReleaseContract } from "./contract/workflows-release.contract.ts";
import type { OpenedWorkflows, WorkflowsHarness, WorkflowsOptions } from "./contract/workflows-shared.contract.ts";
import { workflowStartsContract } from "./contract/workflows-starts.contract.ts";
import { workflowStepsContract } from "./contract/workflows-steps.contract.ts";
import { workflowStickyContract } from "./contract/workflows-sticky.contract.ts";
import { workflowTogetherContract } from "./contract/workflows-together.contract.ts";
import { workflowWakeUpsContract } from "./contract/workflows-wake-ups.contract.ts";

export type { OpenedWorkflows, WorkflowsOptions } from "./contract/workflows-shared.contract.ts";

/** All parts of the suite, so that one can run alone while a store is being written. */
export const workflowParts = {
  starts: workflowStartsContract,
  delivery: workflowDeliveryContract,
  steps: workflowStepsContract,
  together: workflowTogetherContract,
  continuing: workflowContinuingContract,
  claims: workflowClaimsContract,
  builds: workflowBuildsContract,
  sticky: workflowStickyContract,
  leases: workflowLeasesContract,
  lost: workflowLostContract,
  release: workflowReleaseContract,
  ends: workflowEndsContract,
  reading: workflowReadingContract,
  commits: workflowCommitsContract,
  wakeUps: workflowWakeUpsContract,
  crowd: workflowCrowdContract,
  model: workflowModelContract,
  closing: workflowClosingContract,
};

/**
 * Registers the suite. `open` opens an empty store; it is called a few times, and each result is disposed of.
 */
export function workflowsContract(
  name: string,
  open: () => Promise<OpenedWorkflows>,
  options: WorkflowsOptions = {},
): void {
  describe(`contract of workflows on the ${name} store`, () => {
    let opened: OpenedWorkflows | undefined;
    before(async () => {
      opened = await open();
    });
    after(async () => {
      await opened?.dispose();
    });
    const harness: WorkflowsHarness = { open, opened: () => opened as OpenedWorkflows, options };
    for (const part of Object.values(workflowParts)) part(harness);
  });
}
