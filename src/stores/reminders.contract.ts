// The contract of reminders on every store, as one suite: memory, SQLite and PostgreSQL all run it. It opens
// the store once and gives each test a namespace of its own, so a slow store is slow only once.
import { after, before, describe } from "node:test";
import { reminderClaimsContract } from "./contract/reminders-claims.contract.ts";
import { reminderClosingContract } from "./contract/reminders-closing.contract.ts";
import { reminderCommitsContract } from "./contract/reminders-commits.contract.ts";
import { reminderCrowdContract } from "./contract/reminders-crowd.contract.ts";
import { deadRemindersContract } from "./contract/reminders-dead.contract.ts";
import { reminderLeasesContract } from "./contract/reminders-leases.contract.ts";
import { reminderListingContract } from "./contract/reminders-listing.contract.ts";
import { reminderModelContract } from "./contract/reminders-model.contract.ts";
import { reminderSettlingContract } from "./contract/reminders-settling.contract.ts";
import type { OpenedReminders, RemindersHarness, RemindersOptions } from "./contract/reminders-shared.contract.ts";
import { reminderWritesContract } from "./contract/reminders-writes.contract.ts";

export type { OpenedReminders, RemindersOptions } from "./contract/reminders-shared.contract.ts";

/**
 * Registers the suite. `open` opens an empty store; it is called a few times, and each result is disposed of.
 */
export function remindersContract(
  name: string,
  open: () => Promise<OpenedReminders>,
  options: RemindersOptions = {},
): void {
  describe(`contract of reminders on the ${name} store`, () => {
    let opened: OpenedReminders | undefined;
    before(async () => {
      opened = await open();
    });
    after(async () => {
      await opened?.dispose();
    });
    const harness: RemindersHarness = { open, opened: () => opened as OpenedReminders };
    reminderWritesContract(harness);
    reminderClaimsContract(harness);
    reminderLeasesContract(harness);
    reminderSettlingContract(harness);
    deadRemindersContract(harness);
    reminderListingContract(harness);
    reminderCommitsContract(harness);
    reminderCrowdContract(harness);
    reminderModelContract(harness, options);
    reminderClosingContract(harness);
  });
}
