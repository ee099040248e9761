// Bugs by which a reminder is lost, delivered twice, too early or too late, or delivered after its
// cancellation.
import type { Bug } from "./bug.ts";

const OURS = "our own rejected design";
const STORE = "src/stores/memory/memory-reminders.ts";
const PROCESSOR = "src/reminders/processor.ts";
const CLAIM_LOOP = "src/reminders/claim-loop.ts";
const CLAIM_PLAN = "src/reminders/claim-plan.ts";
const DELIVERY = "src/reminders/delivery.ts";
const LIFE = "src/actors/activation/incarnation.ts";

export const REMINDERS: readonly Bug[] = [
  {
    name: "reminder-set-before-the-commit",
    family: "reminders",
    story:
      "Reminders that a turn sets are written at once and not with its state. A turn that throws, is fenced or cut off leaves them behind: a call that failed has an effect.",
    knownFrom: "Dapr, Orleans: reminders and state are separate writes",
    changes: [
      {
        file: "src/actors/outbox/actor-reminders.ts",
        before: "outbox.add(write);",
        after: "await this.#book().write(write);",
      },
    ],
  },
  {
    name: "reminder-survives-the-throw",
    family: "reminders",
    story: "Reminders that a turn sets before it throws are not discarded, and are stored with the next turn.",
    knownFrom: OURS,
    changes: [
      {
        file: LIFE,
        before: "this.services?.rollback(turn.outer === undefined ? 0 : turn.outboxSavepoint);",
        after: "",
      },
    ],
  },
  {
    name: "reminder-done-before-handled",
    family: "reminders",
    story:
      "A tick is settled when its handler has been called, not when it has ended. If it throws, or its process ends, the tick is lost.",
    knownFrom: "every queue that acknowledges on receipt",
    changes: [
      {
        file: "src/actors/outbox/remind.ts",
        before: "return result instanceof Promise ? result.then(() => undefined) : undefined;",
        after: "if (result instanceof Promise) result.catch(() => {});\n  return undefined;",
      },
    ],
  },
  {
    name: "reminder-deleted-after-failure",
    family: "reminders",
    story: "A failed tick is settled like a handled one: no failure is ever retried.",
    knownFrom: "the first demo of reminders on a relational database for Dapr",
    changes: [
      {
        file: DELIVERY,
        before: "results.proceed(entry, { ...tick, at: Math.ceil(storeClock.now() + pause) });",
        after: 'results.settle(entry, { kind: "done" });',
      },
    ],
  },
  {
    name: "reminder-retry-loses-its-moment",
    family: "reminders",
    story:
      "A retried tick gets the time of the new attempt as its own: its handler works for the wrong time, and the grid moves.",
    knownFrom: OURS,
    changes: [
      {
        file: DELIVERY,
        before: "results.proceed(entry, { ...tick, at: Math.ceil(storeClock.now() + pause) });",
        after:
          "const again = Math.ceil(storeClock.now() + pause);\n      results.proceed(entry, { ...tick, at: again, due: again });",
      },
    ],
  },
  {
    name: "reminder-drifts",
    family: "reminders",
    story: "The next tick is counted from the last run, and not from its place on the grid.",
    knownFrom: "francis; Dapr before 1.10",
    changes: [
      {
        file: "src/reminders/decision.ts",
        before: "const next = tickAfter(plan.schedule, tick, now);",
        after: `const planned = tickAfter(plan.schedule, tick, now);
  const period = plan.schedule.every?.ms ?? 0;
  const next = planned && (period > 0 ? { ...planned, due: Math.max(Math.ceil(now) + period, planned.due) } : planned);`,
      },
    ],
  },
  {
    name: "reminder-delivered-though-void",
    family: "reminders",
    story:
      "A reminder that was claimed ahead of its time is delivered when it is due, without a check whether it was cancelled or replaced meanwhile.",
    knownFrom: "the first design of this processor",
    guard: "src/reminders/leases.test.ts",
    changes: [
      {
        file: PROCESSOR,
        before: "entry.verifiedUntil = isSoon ? clock.monotonic() + VERIFIED_MS : Number.NEGATIVE_INFINITY;",
        after: "void isSoon;\n    entry.verifiedUntil = clock.monotonic() + this.#settings.leaseMs;",
      },
      {
        file: PROCESSOR,
        before: "    entry.invalidations++;\n    entry.verifiedUntil = Number.NEGATIVE_INFINITY;",
        after: "",
      },
    ],
  },
  {
    name: "reminder-own-lease-forgotten",
    family: "reminders",
    story:
      "A reminder that is stored for the process that sets it is not put into its queue: it waits until the lease ends.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/reminders/node.ts",
        before: "adopt: (reminder, lease, askedAt) => this.#processor.adopt(reminder, lease, askedAt),",
        after: "adopt: () => {},",
      },
    ],
  },
  {
    name: "reminder-queued-without-lease",
    family: "reminders",
    story:
      "A reminder that is due soon is put into the queue of the process that sets it, and stored without a lease for it. Others claim and deliver it, too.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/reminders/writer.ts",
        before:
          "const outcome = await this.#ask(lease === undefined ? write : ({ ...write, lease } as SetReminder)).finally(() => {",
        after: "const outcome = await this.#ask(write).finally(() => {",
      },
    ],
  },
  {
    name: "reminder-for-any-process",
    family: "reminders",
    story:
      "A claim gets reminders of all types, also of types that the process does not have. They fail there, where no handler exists.",
    knownFrom: OURS,
    changes: [
      {
        file: STORE,
        before: "for (const type of new Set(types)) {",
        after: "for (const type of this.#namespaces.get(namespace)?.keys() ?? types) {",
      },
      {
        file: PROCESSOR,
        before: "if (!this.#deps.delivers(entry.reminder.key.type)) this.#settle(entry, RELEASE);\n    else if",
        after: "if",
      },
    ],
  },
  {
    name: "reminder-outlives-its-end",
    family: "reminders",
    story: "The end time of a reminder is lost when its next tick is planned.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/reminders/schedule/ticks.ts",
        before: "return tick.due <= until && (",
        after: "return tick.due <= until + 1e9 && (",
      },
    ],
  },
  {
    name: "reminder-ends-too-soon",
    family: "reminders",
    story: "The last tick of a schedule is taken for the one behind it, and never comes.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/reminders/schedule/ticks.ts",
        before: "(times === undefined || tick.number <= times)",
        after: "(times === undefined || tick.number < times || tick.number === 1)",
      },
    ],
  },
  {
    name: "reminder-next-look-only",
    family: "reminders",
    story:
      "The process that settles a tick does not expect the next one: the next poll of the store finds it, and it is late by as much.",
    knownFrom: "the first design of this processor",
    changes: [
      {
        file: CLAIM_PLAN,
        before: "return pauseMs <= this.#restMs ? Math.max(pauseMs, SOON_MS) : undefined;",
        after: "return pauseMs <= 0 ? SOON_MS : undefined;",
      },
      {
        file: PROCESSOR,
        before: "          if (next !== undefined) this.#claims.expect(next.at);\n",
        after: "",
      },
    ],
  },
  {
    name: "reminder-claimed-again-and-forgotten",
    family: "reminders",
    story:
      "A row that is claimed again before the response to its settlement is taken for the settled one. It is not delivered until its lease ends.",
    knownFrom: "the first design of this processor",
    changes: [
      {
        file: PROCESSOR,
        before: "if (entry.again !== undefined) this.#addAgain(entry.again);",
        after: "",
      },
    ],
  },
  {
    name: "reminder-old-result-frees-new-claim",
    family: "reminders",
    story:
      "All claims of a process have the same token. A settlement that was delayed and sent again arrives when the process has claimed the row anew, and releases it during its delivery.",
    knownFrom: "the first design of this processor",
    changes: [
      {
        file: CLAIM_LOOP,
        before: `const token = \`\${this.#deps.random.id()}\${store.tokenMark?.() ?? ""}\`;`,
        after:
          "const self = this as { oneToken?: string };\n      self.oneToken ??= this.#deps.random.id();\n      const token = self.oneToken;",
      },
    ],
  },
  {
    name: "reminder-never-renewed",
    family: "reminders",
    story:
      "Leases are not renewed while a handler runs: a tick that takes longer than a lease is delivered a second time.",
    knownFrom: "graphile-worker #222, where a job of six hours ran twice",
    changes: [
      {
        file: "src/reminders/leases.ts",
        before: "const untils = mine.length === 0 ? [] : await this.#renew(mine);",
        after: "const untils = mine.map(({ leaseUntil }) => leaseUntil);",
      },
    ],
  },
  {
    name: "reminder-kept-by-a-stopped-process",
    family: "reminders",
    story: "A process that stops does not release reminders that it has not begun: all of them are late by a lease.",
    knownFrom: OURS,
    changes: [
      {
        file: PROCESSOR,
        before: 'if (entry.state === "waiting") this.#settle(entry, RELEASE);',
        after: 'if (entry.state === "waiting") this.#drop(entry);',
      },
    ],
  },
  {
    name: "reminder-by-the-wall-clock",
    family: "reminders",
    story:
      "The wall clock of each process determines due reminders, and not the clock of the store: a process whose clock is ahead delivers early.",
    knownFrom: "db-scheduler #364",
    changes: [
      {
        file: "src/reminders/store-clock.ts",
        before: "return this.#offset === undefined ? this.#clock.now() : this.#clock.monotonic() + this.#offset;",
        after: "return this.#clock.now();",
      },
    ],
  },
  {
    name: "reminder-ambiguity-is-forgotten",
    family: "reminders",
    story:
      "A definite failure of the last attempt to write a reminder hides that an earlier one may have taken effect. The caller gets a definite failure, and the reminder fires.",
    knownFrom: "the first design of this processor",
    changes: [
      {
        file: "src/kernel/batch/keyed-batcher.ts",
        before: "waiting.isAmbiguous ||= isUnknown;",
        after: "",
      },
    ],
  },
  {
    name: "reminder-missed-ticks-all-run",
    family: "reminders",
    story: "After a long pause every missed tick runs, against the schedule.",
    knownFrom: "Dapr #4500",
    changes: [
      {
        file: "src/reminders/schedule/ticks.ts",
        before: `if (schedule.missed === "all" || next.due >= now) return next;`,
        after: "if (next !== undefined) return next;",
      },
    ],
  },
  {
    name: "reminder-handed-out-by-an-unknown-clock",
    family: "reminders",
    story:
      "A process without a response of the store yet uses its own clock: its reminders are set and delivered early by the error of that clock, and a workflow that it starts is late for good.",
    knownFrom: "ourselves",
    guard: "src/workflows/workflow-faults.test.ts",
    changes: [
      {
        file: "src/host/app.ts",
        before:
          "if (extras.dedicated !== true) await untilAnswered(clock, startPatienceMs, () => reminders.learnTime());",
        after: "",
      },
    ],
  },
];
