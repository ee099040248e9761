// Faults of workflows that combine two events at one moment. A worker resumes when another one has just got
// its task. A response is lost and the request is repeated at once. A run continues as new while it is
// signalled.
import { NO_TROUBLES, type Question } from "../../src/world/database/database.ts";
import type { Process } from "../../src/world/process.ts";
import { runsOf } from "../checkers/workflows/workflow-runs.ts";
import { doDeed } from "../deeds.ts";
import type { Plan, ScriptStep, WorkflowDeed } from "../plan.ts";
import { SCRIPT_TYPES, SIGNALS } from "../scripts.ts";
import type { Stage } from "../stage.ts";
import { asks } from "./at-work.ts";
import { type Fault, fault, hostNames, lengths, times } from "./fault.ts";
import { between } from "./network/between.ts";
import { atMoment, crashAndRestart, isWorking, playerOf } from "./network/players.ts";

// ——— Workers that resume.

interface Overtaken {
  readonly nth: number;
  readonly ms: number;
  readonly wakesAfterMs: number;
  /** The process that got the task ends after this time, so that the task comes back. */
  readonly returnsAfterMs?: number;
}

function workerLease({ settings: { worker } }: Plan): number {
  const { lease = 30_000 } = typeof worker === "object" ? worker : {};
  return Number(lease);
}

/** When another process gets a task that this process has leased. */
function whenOvertaken(stage: Stage, sleeper: Process, then: (by: Process) => void): void {
  let isOver = false;
  runsOf(stage).watchers.push({
    claimed({ holder }, process) {
      if (isOver || holder?.process !== sleeper || process === sleeper) return;
      isOver = true;
      then(process);
    },
  });
}

export const overtaken = fault<Overtaken>({
  name: "worker overtaken",
  summary: "a worker hangs before it writes a step, and wakes up when another one has just been given its task",
  draw(chance, plan) {
    if (plan.workflows === undefined) return [];
    const [nth, wakesAfterMs] = [lengths(chance, 1, 8), lengths(chance, 1, 100)];
    return times(chance, plan, 4, () => {
      const ms = Math.floor(workerLease(plan) * chance.between(1.1, 2) + 3_000);
      const returns = chance.chance(0.5) ? { returnsAfterMs: Math.floor(chance.between(10, 1_000)) } : {};
      return { nth: nth(), ms, wakesAfterMs: wakesAfterMs(), ...returns };
    });
  },
  happen(stage, { nth, ms, wakesAfterMs, returnsAfterMs }, strike) {
    const goAway = (process: Process): void => {
      const player = playerOf(stage, process);
      if (player !== undefined) crashAndRestart(stage, player, false, 1_000);
    };
    atMoment(stage, nth, asks("append"), (player) => {
      const { process } = player.host;
      if (process === undefined) return;
      strike(player.host.name, { nth, ms });
      stage.sleep(player, ms, "pause");
      whenOvertaken(stage, process, (by) => {
        stage.later(wakesAfterMs, () => process.wake());
        if (returnsAfterMs !== undefined) stage.later(wakesAfterMs + returnsAfterMs, () => goAway(by));
      });
    });
  },
});

// ——— Responses that are lost at once.

interface Again {
  readonly nth: number;
  /** Number of lost responses in a row. */
  readonly count: number;
}

/** The client gets a connection error at once, after the request was applied, and repeats the request. */
function askedAgain(name: string, summary: string, question: Question): Fault {
  const breakOff = (stage: Stage, process: Process): void => {
    const { database } = stage.world;
    database.troubles = { ...database.troubles, failsAfter: 1 };
    let isOver = false;
    const end = (): void => {
      if (!isOver) database.troubles = { ...database.troubles, failsAfter: NO_TROUBLES.failsAfter };
      isOver = true;
    };
    stage.trap((event) => event.kind === "done" && event.process === process && event.question === question, end);
    // In case the request never arrives.
    stage.undoAfter(1_000, end);
  };
  return fault<Again>({
    name,
    summary,
    draw(chance, plan) {
      if (plan.workflows === undefined) return [];
      const nth = lengths(chance, 1, 8);
      return times(chance, plan, 4, () => ({ nth: nth(), count: 1 + chance.below(4) }));
    },
    happen(stage, { nth, count }, strike) {
      const next = (after: number, left: number): void =>
        atMoment(stage, after, asks(question), (player) => {
          const { process } = player.host;
          if (process === undefined) return;
          strike(player.host.name, { nth, left });
          breakOff(stage, process);
          if (left > 1) stage.later(1, () => next(1, left - 1));
        });
      next(nth, count);
    },
  });
}

export const stepAgain = askedAgain(
  "step written again",
  "a worker that wrote a step gets a connection error at once, and repeats the write",
  "append",
);
export const startAgain = askedAgain(
  "start asked again",
  "a client that started a workflow gets a connection error at once, and repeats the start",
  "start",
);

// ——— Signals for busy runs.

const callersOf = (plan: Plan): string[] =>
  hostNames({ ...plan, hosts: plan.hosts.filter(({ dedicated }) => !dedicated) });

interface DeliveredTwice {
  readonly hosts: readonly string[];
}

const SIGNAL: WorkflowDeed = { kind: "signal", name: SIGNALS[0] };
/** The run has taken the signal long before its sender's timeout for the response. */
const RECEIVES_TWICE: readonly ScriptStep[] = [
  { do: "signal", name: SIGNALS[0], within: 3_000 },
  { do: "sleep", ms: 6_000 },
  { do: "signal", name: SIGNALS[0], within: 3_000 },
];

export const signalAgain = fault<DeliveredTwice>({
  name: "signal sent again",
  summary: "a client gets no response to a signal, and sends it again long after the first one was processed",
  draw(chance, plan) {
    if (plan.workflows === undefined) return [];
    return times(chance, plan, 3, () => ({ hosts: [0, 1].map(() => chance.pick(callersOf(plan))) }));
  },
  happen(stage, { hosts: [starter, sender], at }, strike) {
    const workflow = `hears-twice-${at}`;
    const send = (from: string, deed: WorkflowDeed): void =>
      void doDeed(stage, { at, from, workflow, deed }, `${workflow}-${deed.kind}`);
    send(starter!, { kind: "start", steps: RECEIVES_TWICE });
    stage.later(300, () => {
      strike(sender, { workflow });
      const { lostResponses: unheard } = between(stage.world);
      const isLost = (question: Question): boolean => question === "arrive";
      unheard.add(isLost);
      stage.undoAfter(200, () => void unheard.delete(isLost));
      send(sender!, SIGNAL);
    });
  },
});

interface HeldStart {
  readonly hosts: readonly string[];
  readonly heldMs: number;
}

/**
 * The run is open when the second attempt at another start arrives, five seconds after the first, and has
 * ended when the first attempt arrives.
 */
const IN_THE_WAY: readonly ScriptStep[] = [{ do: "sleep", ms: 7_000 }];

export const overtakenStart = fault<HeldStart>({
  name: "start overtaken",
  summary:
    "the first attempt at a start is delayed, an open run refuses the second, and the first arrives after that run has ended",
  draw(chance, plan) {
    if (plan.workflows === undefined) return [];
    return times(chance, plan, 2, () => {
      const hosts = [0, 1].map(() => chance.pick(callersOf(plan)));
      return { hosts, heldMs: Math.floor(chance.between(8_000, 20_000)) };
    });
  },
  happen(stage, { hosts: [first, second], heldMs, at }, strike) {
    const workflow = `in-the-way-${at}`;
    const start = (from: string, steps: readonly ScriptStep[], name: string): void =>
      void doDeed(stage, { at, from, workflow, deed: { kind: "start", steps } }, `${workflow}-${name}`);
    start(first!, IN_THE_WAY, "first");
    stage.later(500, () => {
      const { heldUp } = between(stage.world);
      const isHeld = (question: Question): number | undefined => {
        if (question !== "start") return undefined;
        heldUp.delete(isHeld);
        strike(second, { workflow, heldMs });
        return heldMs;
      };
      heldUp.add(isHeld);
      stage.undoAfter(500, () => void heldUp.delete(isHeld));
      start(second!, [], "second");
    });
  },
});

interface GoesOn {
  readonly hosts: readonly string[];
  readonly signals: number;
  readonly everyMs: number;
  readonly heldMs: number;
}

const GOES_ON: readonly ScriptStep[] = [
  ...Array.from({ length: 8 }, (): ScriptStep[] => [{ do: "activity", name: "work", ms: 5 }, { do: "again" }]).flat(),
  { do: "sleep", ms: 500 },
  { do: "signal", name: SIGNALS[0], within: 2_000 },
  { do: "activity", name: "work", ms: 5 },
];

export const signalledOnItsWay = fault<GoesOn>({
  name: "signalled on its way",
  summary: "a run goes on as a new one again and again, slowly, while it is signalled all the time",
  draw(chance, plan) {
    if (plan.workflows === undefined) return [];
    const [everyMs, heldMs] = [lengths(chance, 5, 100), lengths(chance, 20, 300)];
    return times(chance, plan, 2, () => {
      const hosts = Array.from({ length: 4 }, () => chance.pick(callersOf(plan)));
      return { hosts, signals: 10 + chance.below(30), everyMs: everyMs(), heldMs: heldMs() };
    });
  },
  happen(stage, { hosts, signals, everyMs, heldMs, at }, strike) {
    strike("", { signals, everyMs, heldMs });
    const workflow = `on-its-way-${at}`;
    const send = (deed: WorkflowDeed, nth: number): void =>
      void doDeed(stage, { at, from: hosts[nth % hosts.length]!, workflow, deed }, `${workflow}-${nth}`);
    send({ kind: "start", steps: GOES_ON }, 0);
    const { heldUp } = between(stage.world);
    const isHeld = (question: Question): number | undefined => (question === "append" ? heldMs : undefined);
    heldUp.add(isHeld);
    stage.undoAfter(signals * everyMs, () => void heldUp.delete(isHeld));
    for (let i = 1; i <= signals; i++) {
      stage.later(i * everyMs, () => send({ kind: "signal", name: SIGNALS[i % SIGNALS.length]! }, i));
    }
  },
});

interface Asleep {
  readonly worker: string;
  readonly others: readonly string[];
  readonly ms: number;
}

export const eventsWhileAsleep = fault<Asleep>({
  name: "news while asleep",
  summary:
    "a machine sleeps while timers and signals arrive for a run of its worker, which sees all of them at once when it wakes up",
  draw(chance, plan) {
    const { workers = {} } = plan.workflows ?? {};
    const hosts = callersOf(plan).filter((host) => workers[host]?.types.includes(SCRIPT_TYPES[0]));
    if (hosts.length === 0) return [];
    return times(chance, plan, 4, () => {
      const others = [0, 1, 2].map(() => chance.pick(callersOf(plan)));
      // In most cases the worker resumes while it still has the task.
      const ms = Math.floor(Math.min(workerLease(plan) * chance.between(0.3, 1.1), 10_000));
      return { worker: chance.pick(hosts), others, ms };
    });
  },
  happen(stage, { worker, others, ms, at }, strike) {
    const player = stage.player(worker);
    if (!isWorking(player)) return;
    const workflow = `asleep-${at}`;
    const send = (from: string, deed: WorkflowDeed, name: string): void =>
      void doDeed(stage, { at, from, workflow, deed }, `${workflow}-${name}`);
    const receives = (name: string): ScriptStep[] => [{ do: "signal", name, within: ms * 3 }, { do: "note" }];
    const sleeps: ScriptStep[] = [{ do: "sleep", ms: Math.floor(ms * 0.7) + 100 }, { do: "note" }];
    const works: ScriptStep = { do: "activity", name: "work", ms };
    send(
      worker,
      { kind: "start", steps: [{ do: "all", parts: [...SIGNALS.map(receives), sleeps, [works]] }] },
      "start",
    );
    for (const [i, other] of others.entries()) {
      const name = SIGNALS[i % SIGNALS.length]!;
      stage.later(100 + ms * (0.3 + i * 0.2), () => send(other, { kind: "signal", name }, `${i}`));
    }
    stage.later(100, () => {
      if (!isWorking(player)) return;
      strike(worker, { ms });
      stage.sleep(player, ms, "suspend");
    });
  },
});
