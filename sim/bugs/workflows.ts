// Bugs by which a workflow loses an event, acts twice, records an event that never happened, or never
// continues.
import type { Bug } from "./bug.ts";

const OURS = "our own rejected design";
const STEPS = "src/stores/memory/run-steps.ts";
const BOARD = "src/stores/memory/task-board.ts";
const TASK = "src/workflows/worker/task.ts";

export const WORKFLOWS: readonly Bug[] = [
  {
    name: "step-without-lease",
    family: "workflows",
    story:
      "A step counts as long as somebody has a lease on the task, whoever that is. A worker that slept through its lease writes into the history while another one does.",
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
      "A step does not say which event it builds on. When its answer is lost and it is sent again, it stands in the history twice.",
    knownFrom: OURS,
    changes: [
      { file: STEPS, before: "if (task === undefined || run.last !== last) {", after: "if (task === undefined) {" },
    ],
  },
  {
    name: "rest-forgets-what-arrived",
    family: "workflows",
    story:
      "A run comes to rest without a look at what has arrived since its worker looked last. It sleeps with a signal in its inbox until another one comes.",
    knownFrom: "Cadence, in its first years: decision tasks that were not scheduled for buffered events",
    changes: [
      {
        file: STEPS,
        before: `} else if (fate.kind === "rest" && task.arrived > task.taken) {`,
        after: `} else if (fate.kind === "rest" && task.arrived < task.taken) {`,
      },
    ],
  },
  {
    name: "inbox-emptied-with-every-step",
    family: "workflows",
    story: "A step removes all that has arrived, and not only what it has taken into the history.",
    knownFrom: OURS,
    changes: [{ file: STEPS, before: "      if (number > taken) break;\n", after: "" }],
  },
  {
    name: "arrival-wakes-nobody",
    family: "workflows",
    story: "What arrives is kept, and the task of its run stays idle.",
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
    story: "What has arrived at a run that goes on as a new one, and was not taken, is dropped with it.",
    knownFrom: "Azure Durable Functions: events lost at ContinueAsNew",
    changes: [
      {
        file: STEPS,
        before: `const left = fate.kind === "close" && fate.status === "continued" ? leftOver(run, taken) : [];`,
        after: `const left = fate.kind === "close" && token === "" ? leftOver(run, taken) : [];`,
      },
    ],
  },
  {
    name: "buffered-signals-stay-behind",
    family: "workflows",
    story:
      "Signals that a run has taken and its code has not waited for are not handed over when it goes on as a new one.",
    knownFrom: "Azure Durable Functions: events lost at ContinueAsNew",
    changes: [
      {
        file: "src/workflows/worker/outgoing.ts",
        before: "for (const { id, name, input } of execution.unheard) {",
        after: "for (const { id, name, input } of execution.unheard.slice(0, 0)) {",
      },
    ],
  },
  {
    name: "child-that-goes-on-forgets-its-parent",
    family: "workflows",
    story: "A child that goes on as a new run does not know its parent any more, which waits for it for ever.",
    knownFrom: OURS,
    changes: [
      {
        file: "src/workflows/worker/outgoing.ts",
        before: "      ...(parent !== undefined && { parent }),\n      ...(timeoutAt",
        after: "      ...(parent === undefined && { parent }),\n      ...(timeoutAt",
      },
    ],
  },
  {
    name: "start-known-by-its-workflow-alone",
    family: "workflows",
    story:
      "A start that is sent again because its answer was lost finds its own run, and takes it for somebody else's: its caller is told that there is one already.",
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
    story: "What a turn of an actor starts is stored before it is known whether the turn counts.",
    knownFrom: "every system in which an outbox is a second write",
    changes: [
      {
        file: "src/stores/memory/memory-store.ts",
        before: `    if (row.epoch !== epoch || row.version !== version) return "fenced";`,
        after: `    if (starts !== undefined || arrivals !== undefined) this.workflows.bring(starts ?? [], arrivals ?? []);
    if (row.epoch !== epoch || row.version !== version) return "fenced";`,
      },
    ],
  },
  {
    name: "workflows-unknown-while-joining",
    family: "workflows",
    story:
      "A host hears of workflows when it has joined for all of its types. Actors of those that were settled sooner are called before, and cannot start any.",
    knownFrom: "ourselves",
    changes: [
      { file: "src/host/app.ts", before: "  catalog.workflows = flows.book;\n", after: "" },
      {
        file: "src/host/app.ts",
        before: "  const host = new HostNode(",
        after: "  catalog.workflows = flows.book;\n  const host = new HostNode(",
      },
    ],
  },
  {
    name: "task-given-away-despite-lease",
    family: "workflows",
    story: "A claim takes tasks that somebody has a lease on. Two workers decide for one run.",
    knownFrom: OURS,
    changes: [
      {
        file: BOARD,
        before: "const isBehind = task.at > this.#now || others === limit;",
        after: `const isBehind = (task.state !== "leased" && task.at > this.#now) || others === limit;`,
      },
    ],
  },
  {
    name: "builds-bypassed",
    family: "workflows",
    story:
      "A worker that has a run in memory, or finds nobody who has, gets its task whatever build the run is bound to.",
    knownFrom: OURS,
    changes: [
      {
        file: BOARD,
        before: "      if (!bindings.has(bound)) continue;\n      const binds = bindings.get(bound);\n",
        after:
          "      if (!isSticky && !bindings.has(bound)) continue;\n      const binds = bindings.get(bound) ?? bound;\n",
      },
    ],
  },
  {
    name: "warm-runs-are-robbed",
    family: "workflows",
    story: "Tasks are given to whoever asks first, also while the worker that has the run in memory lives.",
    knownFrom: OURS,
    changes: [
      {
        file: BOARD,
        before: "} else if (isActive && heldUntil > this.#now) {",
        after: "} else if (isActive && heldUntil > this.#now && owner === lease.worker) {",
      },
    ],
  },
  {
    name: "late-results-are-recorded",
    family: "workflows",
    story:
      "A result or a timer that comes a second time, or for what nobody waits for any more, is taken into the history all the same.",
    knownFrom: OURS,
    changes: [
      {
        file: TASK,
        before: `if ("of" in news) return execution.isAwaited(news.of);`,
        after: `if ("of" in news) return true;`,
      },
    ],
  },
  {
    name: "signals-counted-as-often-as-sent",
    family: "workflows",
    story: "A signal whose answer was lost is sent again, and counts twice.",
    knownFrom: "Temporal, before signals had request ids",
    changes: [
      {
        file: TASK,
        before: "return key === undefined || !seen.has(key);",
        after: `return key === undefined || news.kind === "SignalReceived" || !seen.has(key);`,
      },
    ],
  },
  {
    name: "activities-of-the-dead-stay-undone",
    family: "workflows",
    story: "Activities that ran in a worker that is gone are waited for, and nobody runs them again.",
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
    story: "A call to an actor that was under way when its worker went away is waited for, and nobody makes it again.",
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
      "A run rests although activities of it run here. Their results find nobody who would write them, and are lost when the run leaves memory.",
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
      "Activities begin before the step that decides them is stored. When that never is, something was done that nobody knows of.",
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
      "What is taken into one step is seen at several moments, and the history has one of them. Code that asks for the time gets another one when it is replayed.",
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
      "A worker whose step did not count any more keeps the run in memory, with decisions in it that no history has, and goes on with it when it gets the next task.",
    knownFrom: OURS,
    changes: [
      {
        file: TASK,
        before: `if (outcome.kind === "lost") return "lost";`,
        after: `if (outcome.kind === "lost") return "rests";`,
      },
      {
        file: "src/workflows/worker/worker.ts",
        before: "if (isSame && warm.last === task.last && warm.taken === task.taken) {",
        after: "if (isSame) {",
      },
    ],
  },
  {
    name: "replay-in-the-present",
    family: "workflows",
    story: "A run that is replayed sees everything at the time of its last step, and counts its timers from there.",
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
      "A start that the store refuses counts as refused for good, although the store never answered an earlier attempt. The store applies that attempt after the open run has ended.",
    knownFrom: "ourselves",
    guard: "src/host/refused-in-doubt.test.ts",
    changes: [
      {
        file: "src/workflows/worker/batched-store.ts",
        before: "inDoubt: (_, outcome) => (outcome.isNew ? outcome : { ...outcome, isInDoubt: true }),",
        after: "",
      },
    ],
  },
];
