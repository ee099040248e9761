// Bugs by which a workflow loses an event, acts twice, records an event that never happened, or never
// continues.
import type { Bug } from "./bug.ts";

const OURS = "our own rejected design";
const STEPS = "src/stores/memory/run-steps.ts";
const TASKS = "src/stores/memory/task-index.ts";
const TASK = "src/workflows/worker/task.ts";

export const WORKFLOWS: readonly Bug[] = [
  {
    name: "step-without-lease",
    family: "workflows",
    story:
      "A step counts as long as any worker has a lease on the task. A worker that slept through its lease writes into the history while another one does.",
    knownFrom: "every queue that forgets to fence",
    changes: [
      {
        file: STEPS,
        before: `return task?.state === "leased" && task.token === token ? task : undefined;`,
        after: `return task?.state === "leased" && token !== "" ? task : undefined;`,
      },
    ],
  },
  {
    name: "step-written-twice",
    family: "workflows",
    story:
      "A step does not name the event it builds on. When its response is lost and it is sent again, it is in the history twice.",
    knownFrom: OURS,
    changes: [
      { file: STEPS, before: "if (task === undefined || run.last !== last) {", after: "if (task === undefined) {" },
    ],
  },
  {
    name: "rest-forgets-arrived-messages",
    family: "workflows",
    story:
      "A run goes idle without a check for events that arrived since its worker's last read. It sleeps with a signal in its inbox until another one arrives.",
    knownFrom: "Cadence, in its first years: decision tasks that were not scheduled for buffered events",
    changes: [
      {
        file: STEPS,
        before: `} else if (outcome.kind === "rest" && task.delivered > task.taken) {`,
        after: `} else if (outcome.kind === "rest" && task.delivered < task.taken) {`,
      },
    ],
  },
  {
    name: "inbox-emptied-with-every-step",
    family: "workflows",
    story: "A step removes all arrived events, and not only those that it has taken into the history.",
    knownFrom: OURS,
    changes: [{ file: STEPS, before: "      if (number > taken) break;\n", after: "" }],
  },
  {
    name: "message-wakes-no-worker",
    family: "workflows",
    story: "Arrived events are stored, and the task of their run stays idle.",
    knownFrom: OURS,
    changes: [
      {
        file: STEPS,
        before: `if (task.state === "idle") this.#makeReady(task, this.#now());`,
        after: `if (task.state === "idle" && number === 1) this.#makeReady(task, this.#now());`,
      },
    ],
  },
  {
    name: "signals-stay-behind",
    family: "workflows",
    story: "Events that have arrived at a run that continues as new, and were not taken, are dropped with it.",
    knownFrom: "Azure Durable Functions: events lost at ContinueAsNew",
    changes: [
      {
        file: STEPS,
        before: `const left = outcome.kind === "close" && outcome.status === "continued" ? leftOver(run, taken) : [];`,
        after: `const left = outcome.kind === "close" && token === "" ? leftOver(run, taken) : [];`,
      },
    ],
  },
  {
    name: "buffered-signals-stay-behind",
    family: "workflows",
    story: "Signals that a run has taken and its code has not awaited are not carried over when it continues as new.",
    knownFrom: "Azure Durable Functions: events lost at ContinueAsNew",
    changes: [
      {
        file: "src/workflows/worker/command-dispatcher.ts",
        before: "for (const { id, name, input } of execution.unheard) {",
        after: "for (const { id, name, input } of execution.unheard.slice(0, 0)) {",
      },
    ],
  },
  {
    name: "child-that-goes-on-forgets-its-parent",
    family: "workflows",
    story: "A child that continues as new loses its parent, which waits for it for ever.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/workflows/worker/command-dispatcher.ts",
        before: "      parent,\n      timeoutAt,",
        after: "      parent: undefined,\n      timeoutAt,",
      },
    ],
  },
  {
    name: "start-known-by-its-workflow-alone",
    family: "workflows",
    story:
      "A start that is repeated because its response was lost finds its own run, and takes it for another one: its caller gets the error that the workflow exists.",
    knownFrom: "clients that retry without a request id",
    changes: [
      {
        file: STEPS,
        before: "if (known !== undefined) return outcomeOf(known, true);",
        after: "if (known !== undefined && known.task === undefined) return outcomeOf(known, true);",
      },
    ],
  },
  {
    name: "turn-that-is-fenced-starts-all-the-same",
    family: "workflows",
    story: "Workflows that a turn of an actor starts are stored before the commit of the turn is checked.",
    knownFrom: "every system in which an outbox is a second write",
    changes: [
      {
        file: "src/stores/memory/memory-store.ts",
        before: `    if (row.epoch !== epoch || row.version !== version) return "fenced";`,
        after: `    if (starts !== undefined || messages !== undefined) this.workflows.apply(starts ?? [], messages ?? []);
    if (row.epoch !== epoch || row.version !== version) return "fenced";`,
      },
    ],
  },
  {
    name: "workflows-unknown-while-joining",
    family: "workflows",
    story:
      "A host gets its workflow client after it has joined for all of its types. Actors of types that settle sooner are called before, and cannot start workflows.",
    knownFrom: "ourselves",
    changes: [
      { file: "src/host/app.ts", before: "  catalog.connect({ workflows: flows.writer });\n", after: "" },
      {
        file: "src/host/app.ts",
        before: "  const host = new HostNode(",
        after: "  catalog.connect({ workflows: flows.writer });\n  const host = new HostNode(",
      },
    ],
  },
  {
    name: "task-given-away-despite-lease",
    family: "workflows",
    story: "A claim takes leased tasks. Two workers decide for one run.",
    knownFrom: OURS,
    changes: [
      {
        file: TASKS,
        before: "const isBehind = task.at > this.#now || others === limit;",
        after: `const isBehind = (task.state !== "leased" && task.at > this.#now) || others === limit;`,
      },
    ],
  },
  {
    name: "builds-bypassed",
    family: "workflows",
    story:
      "A worker that has a run in memory, or finds no other that has, gets its task whatever build the run is pinned to.",
    knownFrom: OURS,
    changes: [
      {
        file: TASKS,
        before: "      if (!pins.has(pinned)) continue;\n      const nextPin = pins.get(pinned);\n",
        after:
          "      if (!isSticky && !pins.has(pinned)) continue;\n      const nextPin = pins.get(pinned) ?? pinned;\n",
      },
    ],
  },
  {
    name: "warm-runs-are-robbed",
    family: "workflows",
    story: "Tasks go to the first worker that polls, also while the worker that has the run in memory lives.",
    knownFrom: OURS,
    changes: [
      {
        file: TASKS,
        before: "} else if (isActive && ownedUntil > this.#now) {",
        after: "} else if (isActive && ownedUntil > this.#now && owner === lease.worker) {",
      },
    ],
  },
  {
    name: "late-results-are-recorded",
    family: "workflows",
    story:
      "A result or a timer that arrives a second time, or that the code no longer awaits, is taken into the history all the same.",
    knownFrom: OURS,
    changes: [
      {
        file: TASK,
        before: `if ("of" in event) return execution.isAwaited(event.of);`,
        after: `if ("of" in event) return true;`,
      },
    ],
  },
  {
    name: "signals-counted-as-often-as-sent",
    family: "workflows",
    story: "A signal whose response was lost is sent again, and counts twice.",
    knownFrom: "Temporal, before signals had request ids",
    changes: [
      {
        file: TASK,
        before: "return key === undefined || !seen.has(key);",
        after: `return key === undefined || event.kind === "SignalReceived" || !seen.has(key);`,
      },
    ],
  },
  {
    name: "activities-of-the-dead-stay-undone",
    family: "workflows",
    story: "Activities of an ended worker stay pending, and no worker runs them again.",
    knownFrom: OURS,
    changes: [
      {
        file: TASK,
        before: '    ...execution.recordedAwaited("ActivityScheduled", "ActorCalled"),\n',
        after: "",
      },
    ],
  },
  {
    name: "actors-are-not-called-again",
    family: "workflows",
    story: "A call to an actor that was in progress when its worker ended stays pending, and is never made again.",
    knownFrom: OURS,
    changes: [
      {
        file: TASK,
        before: '    ...execution.recordedAwaited("ActivityScheduled", "ActorCalled"),\n',
        after: '    ...execution.recordedAwaited("ActivityScheduled"),\n',
      },
    ],
  },
  {
    name: "rests-while-activities-run",
    family: "workflows",
    story:
      "A run goes idle although its activities run in this worker. Their results are not written, and are lost when the run leaves memory.",
    knownFrom: OURS,
    changes: [
      {
        file: TASK,
        before: "const isBusy = this.#eager.length > 0 || run.running.size > 0 || run.items.length > 0;",
        after: "const isBusy = this.#eager.length > 0 || run.items.length > 0;",
      },
    ],
  },
  {
    name: "activities-begin-before-they-are-decided",
    family: "workflows",
    story:
      "Activities begin before the step that schedules them is stored. If the step is never stored, an activity ran without a record.",
    knownFrom: OURS,
    changes: [
      {
        file: TASK,
        before: "      const outcome = await step.write();\n",
        after: "      step.startActivities();\n      const outcome = await step.write();\n",
      },
    ],
  },
  {
    name: "time-goes-on-within-a-step",
    family: "workflows",
    story:
      "Events of one step are seen at several times, and the history has only one of them. Code that reads the time gets another one when it is replayed.",
    knownFrom: OURS,
    changes: [
      {
        file: TASK,
        before: "    for (const { sent } of all) this.#at = Math.max(this.#at, sent.notBefore ?? 0);\n",
        after: "",
      },
      {
        file: TASK,
        before: "      await this.#take(number, sent);\n",
        after: "      this.#at = Math.max(this.#at, sent.notBefore ?? 0);\n      await this.#take(number, sent);\n",
      },
    ],
  },
  {
    name: "overtaken-run-stays-in-memory",
    family: "workflows",
    story:
      "A worker whose step was rejected keeps the run in memory, with commands that no history has, and continues it when it gets the next task.",
    knownFrom: OURS,
    changes: [
      {
        file: TASK,
        before: `if (outcome.kind === "lost") return "lost";`,
        after: `if (outcome.kind === "lost") return "rests";`,
      },
      {
        file: "src/workflows/worker/run-loader.ts",
        before: "if (isSame && warm.last === task.last && warm.taken === task.taken) {",
        after: "if (isSame) {",
      },
    ],
  },
  {
    name: "replay-in-the-present",
    family: "workflows",
    story: "A replayed run sees every event at the time of its last step, and counts its timers from there.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/workflows/engine/execution.ts",
        before: "await this.#pass(event, at);",
        after: "await this.#pass(event, Math.max(at, steps.at(-1)!.at));",
      },
    ],
  },
  {
    name: "workflow-refused-after-silence",
    family: "workflows",
    story:
      "A start that the store rejects counts as rejected for good, although the store never answered an earlier attempt. The store applies that attempt after the open run has ended.",
    knownFrom: "ourselves",
    guard: "src/host/refused-in-doubt.test.ts",
    changes: [
      {
        file: "src/workflows/worker/batched-store.ts",
        before: "resolveAmbiguous: (_, outcome) => (outcome.isNew ? outcome : { ...outcome, isAmbiguous: true }),",
        after: "",
      },
    ],
  },
];
