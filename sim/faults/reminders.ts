// Faults of reminders: while a process has claimed one and has not settled it, on the route to the store, and
// by clients that set and cancel many at once.
import type { Question } from "../../src/world/database/database.ts";
import { makeCall } from "../callers.ts";
import { rowsOf } from "../checkers/reminders/reminder-rows.ts";
import type { PlannedCall, PlannedReminder } from "../plan.ts";
import type { TrapEvent } from "../stage.ts";
import {
  asks,
  atWorkWhere,
  databaseLeaves,
  dies,
  done,
  type Hit,
  hangs,
  inBothWays,
  leaves,
  sleeps,
} from "./at-work.ts";
import { type Fault, fault, lengths, severity, times } from "./fault.ts";
import { between } from "./network/between.ts";
import { crashAndRestart, playerOf } from "./network/players.ts";

/** Processes with leases on reminders that another process handles at this moment. */
const deliverersDie: Hit = (stage, player, { nth, quietly, ms }, strike) => {
  const { process } = player.host;
  const deliverers = new Set([...rowsOf(stage).current].map(({ holder }) => holder?.process));
  for (const deliverer of deliverers) {
    const other = deliverer === undefined || deliverer === process ? undefined : playerOf(stage, deliverer);
    if (other === undefined) continue;
    strike(other.host.name, { nth, quietly });
    crashAndRestart(stage, other, quietly, ms);
  }
};

const handles = ({ kind }: TrapEvent): boolean => kind === "reminds";
const claims = ({ kind }: TrapEvent): boolean => kind === "claimed";
const atWork = atWorkWhere(({ reminders }) => reminders !== undefined);
const diesOrHangs = inBothWays(atWork);

export const [diesAtClaim, hangsAtClaim] = diesOrHangs(
  "dies at claim",
  "a process ends when reminders have been leased to it, and it does not know yet",
  claims,
);
export const diesBeforeSettling = atWork(
  "dies before settling",
  "a process ends when a reminder has been handled, before it settles the reminder",
  asks("settle"),
  dies,
);
export const hangsBeforeSettling = atWork(
  "hangs before settling",
  "a process hangs when a reminder has been handled, and settles it when it resumes",
  asks("settle"),
  hangs,
);
export const sleepsBeforeSettling = atWork(
  "sleeps before settling",
  "a machine sleeps when a reminder has been handled, and its clock does not notice",
  asks("settle"),
  sleeps,
);
export const diesAfterSettling = atWork(
  "dies after settling",
  "a process ends after the store has settled a reminder, before the response",
  done("settle"),
  dies,
);
export const hangsBeforeRenewing = atWork(
  "hangs before renewing",
  "a process hangs before it renews its leases",
  asks("renew"),
  hangs,
);
export const diesAfterWriting = atWork(
  "dies after writing",
  "a process ends when reminders were written that it wanted to deliver itself",
  done("remind"),
  dies,
);
export const diesHandling = atWork(
  "dies while handling",
  "a process ends when the handler of a reminder has begun in it",
  handles,
  dies,
);
export const deliverersDieHandling = atWork(
  "deliverer dies",
  "processes with leases on reminders end while another process handles one",
  handles,
  deliverersDie,
);
export const stoppedHandling = atWork(
  "stopped while handling",
  "a process is stopped in an orderly way when the handler of a reminder has begun in it",
  handles,
  leaves,
);
export const stoppedAtClaim = atWork(
  "stopped at claim",
  "a process is stopped in an orderly way when reminders have been leased to it, and it does not know yet",
  claims,
  leaves,
);

// ——— Requests to the store.

interface LostResponses {
  readonly questions: readonly Question[];
  readonly share: number;
  readonly ms: number;
}

const ABOUT_REMINDERS: readonly Question[] = ["claim", "settle", "renew", "remind"];

export const lostReminderResponses = fault<LostResponses>({
  name: "reminders unheard",
  summary: "for a while some responses of the store about reminders are lost",
  draw(chance, plan) {
    if (plan.reminders === undefined) return [];
    const [share, ms] = [severity(chance, 0.1, 1), lengths(chance, 100, 30_000)];
    return times(chance, plan, 3, () => {
      const questions = ABOUT_REMINDERS.filter(() => chance.chance(0.6));
      return { questions, share: share(), ms: ms() };
    });
  },
  happen(stage, { questions, share, ms, at }, strike) {
    strike("", { questions: questions.join(), share, ms });
    const chance = stage.chance.child(`unheard ${at}`);
    const { lostResponses: unheard } = between(stage.world);
    const isLost = (question: Question): boolean => questions.includes(question) && chance.chance(share);
    unheard.add(isLost);
    stage.undoAfter(ms, () => void unheard.delete(isLost));
  },
});

interface Held {
  readonly questions: readonly Question[];
  readonly share: number;
  readonly heldMs: number;
  readonly ms: number;
}

export const lateReminders = fault<Held>({
  name: "reminders held up",
  summary: "for a while some requests about reminders arrive at the store long after their timeout",
  draw(chance, plan) {
    if (plan.reminders === undefined) return [];
    const [share, heldMs, ms] = [severity(chance, 0.1, 1), lengths(chance, 500, 20_000), lengths(chance, 100, 30_000)];
    return times(chance, plan, 3, () => {
      const questions = (["settle", "remind"] as const).filter(() => chance.chance(0.7));
      return { questions, share: share(), heldMs: heldMs(), ms: ms() };
    });
  },
  happen(stage, { questions, share, heldMs, ms, at }, strike) {
    strike("", { questions: questions.join(), share, heldMs, ms });
    const chance = stage.chance.child(`held up ${at}`);
    const { heldUp } = between(stage.world);
    const isHeld = (question: Question): number | undefined =>
      questions.includes(question) && chance.chance(share) ? heldMs : undefined;
    heldUp.add(isHeld);
    stage.undoAfter(ms, () => void heldUp.delete(isHeld));
  },
});

export const awayAfterWriting = atWork(
  "away after writing",
  "the database goes down after it has written reminders, before the response",
  done("remind"),
  databaseLeaves,
);

// ——— Bursts.

interface Storm {
  readonly calls: readonly (PlannedCall & { readonly afterMs: number })[];
}

/** A burst of calls that set and cancel the same few reminders. */
function storm(
  name: string,
  summary: string,
  mostApartMs: number,
  when: (dueMs: number) => PlannedReminder["when"],
): Fault {
  return fault<Storm>({
    name,
    summary,
    draw(chance, plan) {
      const { calls: all } = plan;
      if (plan.reminders === undefined || all.length === 0) return [];
      const [apartMs, dueMs] = [lengths(chance, 1, mostApartMs), lengths(chance, 1, 5_000)];
      return times(chance, plan, 2, () => {
        const targets = [chance.pick(all), chance.pick(all)];
        const [apart, due] = [apartMs(), dueMs()];
        const calls = Array.from({ length: 5 + chance.below(40) }, () => {
          const { type, id } = chance.pick(targets);
          const outside = chance.chance(0.5);
          const how = { writes: chance.chance(0.5) };
          const remind = { name: chance.pick(["s0", "s1", "s2"]), when: when(due), how };
          const what = chance.chance(0.25) ? { forget: remind.name } : { remind };
          return {
            at: 0,
            afterMs: Math.floor(chance.between(0, apart)),
            from: chance.pick(all).from,
            type,
            id,
            method: "remind",
            how: { ...what, ...(outside ? { outside } : {}) },
            timeoutMs: outside ? 25_000 : 5_000,
          };
        });
        return { calls };
      });
    },
    happen(stage, { calls, at }, strike) {
      strike("", { calls: calls.length });
      for (const [i, { afterMs, ...call }] of calls.entries()) {
        const token = `${name.replaceAll(" ", "-")}-${at}-${i}`;
        stage.later(afterMs, () => void makeCall(stage, { ...call, at: stage.now }, token));
      }
    },
  });
}

export const reminderStorm = storm(
  "reminder storm",
  "the same few reminders are set and cancelled, again and again and by many",
  4_000,
  (due) => ({ due }),
);
export const beatStorm = storm(
  "beat storm",
  "the same few reminders, which tick often, are set and cancelled by many while they fire",
  8_000,
  (due) => ({ due: 0, every: 50 + (due % 500), times: 20, missed: "all" }),
);
