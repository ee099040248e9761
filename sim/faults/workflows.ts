// Faults of workflows: while a worker has a task and has not completed it, on the route to the store, and by
// clients that start and signal the same workflow at once.
import type { Question } from "../../src/world/database/database.ts";
import { doDeed } from "../deeds.ts";
import type { PlannedDeed, WorkflowDeed } from "../plan.ts";
import { BELL, SIGNALS } from "../scripts.ts";
import type { TrapEvent } from "../stage.ts";
import { asks, atWorkWhere, databaseLeaves, dies, done, hangs, inBothWays, leaves, sleeps } from "./at-work.ts";
import { type Fault, fault, lengths, severity, times } from "./fault.ts";
import { between } from "./network/between.ts";

export * from "./workflow-moments.ts";
export * from "./workflow-turns.ts";

const polls = ({ kind }: TrapEvent): boolean => kind === "polled";
const works = ({ kind }: TrapEvent): boolean => kind === "works";
const atWork = atWorkWhere(({ workflows }) => workflows !== undefined);
const diesOrHangs = inBothWays(atWork);

export const [diesAtPoll, hangsAtPoll] = diesOrHangs(
  "worker dies at poll",
  "a worker ends when tasks have been leased to it, and it does not know yet",
  polls,
);
export const stoppedAtPoll = atWork(
  "worker stopped at poll",
  "a worker is stopped in an orderly way when tasks have been leased to it, and it does not know yet",
  polls,
  leaves,
);
export const diesBeforeStep = atWork(
  "worker dies before a step",
  "a worker ends when it was about to write a step of a run",
  asks("append"),
  dies,
);
export const hangsBeforeStep = atWork(
  "worker hangs before a step",
  "a worker hangs when it was about to write a step of a run, and writes it when it wakes up",
  asks("append"),
  hangs,
);
export const sleepsBeforeStep = atWork(
  "worker sleeps before a step",
  "a machine sleeps when its worker was about to write a step, and its clock does not notice",
  asks("append"),
  sleeps,
);
export const [diesAfterStep, hangsAfterStep] = diesOrHangs(
  "worker dies after a step",
  "a worker ends when the store has a step of a run, and it does not know that",
  done("append"),
);
export const awayAfterStep = atWork(
  "away after a step",
  "the database goes down after it has written steps of runs, before the response",
  done("append"),
  databaseLeaves,
);
export const [diesAtWork, hangsAtWork] = diesOrHangs(
  "worker dies at work",
  "a worker ends when an activity of a workflow has begun in it",
  works,
);
export const stoppedAtWork = atWork(
  "worker stopped at work",
  "a worker is stopped in an orderly way when an activity of a workflow has begun in it",
  works,
  leaves,
);
export const diesAfterStart = atWork(
  "starter dies",
  "a process ends when it has started workflows, and it does not know yet",
  done("start"),
  dies,
);
export const hangsBeforeExtending = atWork(
  "worker hangs before extending",
  "a worker hangs when it is about to ask whether the tasks it has are still its own",
  asks("extend"),
  hangs,
);

// ——— Requests to the store.

const ABOUT_WORKFLOWS: readonly Question[] = ["start", "arrive", "append", "poll", "extend", "give back", "await"];

interface LostResponses {
  readonly questions: readonly Question[];
  readonly share: number;
  readonly ms: number;
}

export const lostWorkflowResponses = fault<LostResponses>({
  name: "workflows unheard",
  summary: "for a while some responses of the store about workflows are lost",
  draw(chance, plan) {
    if (plan.workflows === undefined) return [];
    const [share, ms] = [severity(chance, 0.1, 1), lengths(chance, 100, 20_000)];
    return times(chance, plan, 3, () => {
      const questions = ABOUT_WORKFLOWS.filter(() => chance.chance(0.5));
      return { questions, share: share(), ms: ms() };
    });
  },
  happen(stage, { questions, share, ms, at }, strike) {
    strike("", { questions: questions.join(), share, ms });
    const chance = stage.chance.child(`workflows unheard ${at}`);
    const { lostResponses: unheard } = between(stage.world);
    const isLost = (question: Question): boolean => questions.includes(question) && chance.chance(share);
    unheard.add(isLost);
    stage.undoAfter(ms, () => void unheard.delete(isLost));
  },
});

interface Held extends LostResponses {
  readonly heldMs: number;
}

export const lateWorkflows = fault<Held>({
  name: "workflows held up",
  summary: "for a while some requests about workflows arrive at the store long after their timeout",
  draw(chance, plan) {
    if (plan.workflows === undefined) return [];
    const [share, heldMs, ms] = [severity(chance, 0.1, 1), lengths(chance, 300, 20_000), lengths(chance, 100, 20_000)];
    return times(chance, plan, 3, () => {
      const questions = (["append", "arrive", "start", "give back"] as const).filter(() => chance.chance(0.6));
      return { questions, share: share(), heldMs: heldMs(), ms: ms() };
    });
  },
  happen(stage, { questions, share, heldMs, ms, at }, strike) {
    strike("", { questions: questions.join(), share, heldMs, ms });
    const chance = stage.chance.child(`workflows held up ${at}`);
    const { heldUp } = between(stage.world);
    const isHeld = (question: Question): number | undefined =>
      questions.includes(question) && chance.chance(share) ? heldMs : undefined;
    heldUp.add(isHeld);
    stage.undoAfter(ms, () => void heldUp.delete(isHeld));
  },
});

interface Unnotified {
  readonly ms: number;
}

export const unnotifiedWorkers = fault<Unnotified>({
  name: "deaf workers",
  summary: "for a while the database sends no notifications about tasks",
  draw(chance, plan) {
    if (plan.workflows === undefined) return [];
    const ms = lengths(chance, 100, 30_000);
    return times(chance, plan, 3, () => ({ ms: ms() }));
  },
  happen(stage, { ms }, strike) {
    const { database } = stage.world;
    strike("", { ms });
    const notify = database.notifyFollowers;
    database.notifyFollowers = () => {};
    stage.undoAfter(ms, () => {
      database.notifyFollowers = notify;
    });
  },
});

// ——— Bursts.

interface Storm {
  readonly deeds: readonly (Omit<PlannedDeed, "at"> & { readonly afterMs: number })[];
}

/** A burst of operations on the same one or two workflows. */
function storm(name: string, summary: string, mostApartMs: number, deed: (number: number) => WorkflowDeed): Fault {
  return fault<Storm>({
    name,
    summary,
    draw(chance, plan) {
      const { deeds: all = [] } = plan;
      if (plan.workflows === undefined || all.length === 0) return [];
      const apartMs = lengths(chance, 1, mostApartMs);
      return times(chance, plan, 2, () => {
        const targets = [chance.pick(all).workflow, chance.pick(all).workflow];
        const apart = apartMs();
        const deeds = Array.from({ length: 5 + chance.below(25) }, () => ({
          afterMs: Math.floor(chance.between(0, apart)),
          from: chance.pick(all).from,
          workflow: chance.pick(targets),
          deed: deed(chance.number()),
        }));
        return { deeds };
      });
    },
    happen(stage, { deeds, at }, strike) {
      strike("", { deeds: deeds.length });
      for (const [i, { afterMs, ...one }] of deeds.entries()) {
        const token = `${name.replaceAll(" ", "-")}-${at}-${i}`;
        stage.later(afterMs, () => void doDeed(stage, { ...one, at: stage.now }, token));
      }
    },
  });
}

export const signalStorm = storm(
  "signal storm",
  "one or two workflows are signalled by many, all at once",
  2_000,
  (number) => ({ kind: "signal", name: [...SIGNALS, BELL][Math.floor(number * 3)]! }),
);

const AGAIN: WorkflowDeed = {
  kind: "start",
  ifRunning: "existing",
  steps: [
    { do: "activity", name: "work", ms: 5 },
    { do: "signal", name: SIGNALS[0], within: 200 },
    { do: "again" },
    { do: "signal", name: SIGNALS[1], within: 200 },
    { do: "again" },
    { do: "bells", count: 3, within: 300 },
  ],
};

/** Runs that continue as new while they are signalled. */
export const startStorm = storm(
  "start storm",
  "one or two workflows are started, replaced, signalled and cancelled by many, all at once",
  4_000,
  (number) => {
    if (number < 0.15)
      return { kind: "start", ifRunning: "terminate", steps: AGAIN.kind === "start" ? AGAIN.steps : [] };
    if (number < 0.4) return AGAIN;
    if (number < 0.5) return { kind: "cancel" };
    if (number < 0.55) return { kind: "update", ms: 10 };
    return { kind: "signal", name: [...SIGNALS, BELL][Math.floor(number * 100) % 3]! };
  },
);
