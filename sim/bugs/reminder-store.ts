// Bugs of the store of reminders: a lease or a fence that a write does not check.
import type { Bug } from "./bug.ts";

const OURS = "our own rejected design";
const STORE = "src/stores/memory/memory-reminders.ts";

export const REMINDER_STORE: readonly Bug[] = [
  {
    name: "reminder-settled-without-token",
    family: "reminders",
    story:
      "A settlement of a reminder counts whether or not its process still has the lease. A process that slept through its lease ends or advances a reminder that another one is about to deliver, or releases it during its delivery.",
    knownFrom: "the first demo of reminders on a relational database for Dapr",
    guard: "src/stores/contract/reminders-settling.contract.ts",
    changes: [
      {
        file: STORE,
        before: "if (row === undefined || row.token !== settlement.token) return false;",
        after: "if (row === undefined) return false;",
      },
    ],
  },
  {
    name: "reminder-claimed-despite-lease",
    family: "reminders",
    story:
      "A claim takes due reminders although they are leased. Two processes deliver the same tick at the same time.",
    knownFrom: "Dapr #3921",
    changes: [
      {
        file: STORE,
        before: "if (isBehind || isLeased(row, now)) next",
        after: "if (isBehind) next",
      },
    ],
  },
  {
    name: "reminder-replaced-keeps-lease",
    family: "reminders",
    story:
      "A replaced reminder keeps the lease of the previous one. The holder does not know the new one, so it waits until the lease ends.",
    knownFrom: OURS,
    changes: [
      {
        file: STORE,
        before: `      token: write.lease?.token,
      leasedUntil: write.lease === undefined ? 0 : this.#now() + write.lease.leaseMs,`,
        after: `      token: write.lease?.token ?? before?.token,
      leasedUntil: write.lease === undefined ? (before?.leasedUntil ?? 0) : this.#now() + write.lease.leaseMs,`,
      },
    ],
  },
  {
    name: "reminder-cancel-spares-claimed-rows",
    family: "reminders",
    story: "A leased reminder is not cancelled. Its caller gets a success, and it continues to tick.",
    knownFrom: OURS,
    changes: [
      {
        file: STORE,
        before: "if (before !== undefined) this.#drop(before);",
        after: `if (write.kind === "cancel" && before !== undefined && isLeased(before, this.#now())) return { kind: "cancelled", existed: true };
    if (before !== undefined) this.#drop(before);`,
      },
    ],
  },
  {
    name: "reminder-fenced-commit-settles",
    family: "reminders",
    story:
      "Settlements of a commit are applied before the commit is checked. A handler whose actor was taken over has its tick settled, and none of its changes is kept: the tick is lost.",
    knownFrom: "every system in which reminders and state are separate writes",
    changes: [
      {
        file: "src/stores/memory/memory-store.ts",
        before: `    if (row.epoch !== epoch || row.version !== version) return "fenced";`,
        after: `    if (settle !== undefined) this.#reminders.settleNow(settle);
    if (row.epoch !== epoch || row.version !== version) return "fenced";`,
      },
    ],
  },
  {
    name: "reminder-void-commit-counts",
    family: "reminders",
    story:
      "A handler's changes are stored although its lease was lost, and another process handles the tick as well. The changes to the state are applied twice.",
    knownFrom: OURS,
    guard: "src/actors/reminder-turns.test.ts",
    changes: [
      {
        file: "src/stores/memory/memory-store.ts",
        before: `if (settle !== undefined && !this.#reminders.wouldCount(settle)) return "void";`,
        after: "",
      },
    ],
  },
];
