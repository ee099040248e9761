// The requests to the parts of a virtual database: the question of each method, and the notifications after
// its effect. The types demand an entry for every method.
import type { Coordination } from "../../ports/store/coordination.ts";
import type { Reminders, ReminderWrite, Settlement } from "../../ports/store/reminders.ts";
import type { Shards } from "../../ports/store/shards.ts";
import type { RunStart, StartOutcome, Workflows } from "../../ports/store/workflows.ts";
import type { DatabaseWatcher, Question } from "./database-questions.ts";

/** The arguments of a notification, without the station. */
type News<K extends keyof DatabaseWatcher> =
  Parameters<NonNullable<DatabaseWatcher[K]>> extends [unknown, ...infer Rest] ? Rest : never;

/** The observers of a request. */
export interface Observers {
  notify<K extends keyof DatabaseWatcher>(event: K, ...about: News<K>): void;
  /** The request wrote these reminders: other processes may claim them. */
  reminded(writes: readonly ReminderWrite[]): void;
}

type Effect<Args extends readonly unknown[], Answer> = (it: Observers, answer: Answer, ...args: Args) => void;

/** A method with a promise: all except `watch` and `tokenMark`. */
type Asked = (...args: never[]) => Promise<unknown>;

type Requests<Part> = {
  readonly [M in keyof Part as Part[M] extends Asked ? M : never]: Part[M] extends Asked
    ? readonly [Question, Effect<Parameters<Part[M]>, Awaited<ReturnType<Part[M]>>>?]
    : never;
};

const coordination: Requests<Coordination> = {
  campaign: ["campaign", (it, result, candidate) => it.notify("campaigned", candidate, result)],
  resign: ["resign"],
  members: ["members"],
  persist: ["note"],
  secret: ["members"],
  leave: ["note", (it, _, incarnations) => it.notify("left", incarnations)],
};

const reminders: Requests<Reminders> = {
  write: [
    "remind",
    (it, outcomes, batch) => {
      it.notify("reminded", batch, outcomes);
      it.reminded(batch);
    },
  ],
  claim: ["claim", (it, claim, request) => it.notify("claimed", request, claim)],
  settle: ["settle", (it, counted, batch) => it.notify("settled", batch, counted)],
  rewrite: [
    "settle",
    (it, counted, batch) => {
      const settlements = batch.map(({ data: _, ...next }): Settlement => ({ kind: "next", ...next }));
      it.notify("settled", settlements, counted);
    },
  ],
  renew: ["renew"],
  get: ["read"],
  list: ["read"],
  listDead: ["read"],
  revive: ["remind"],
  forget: ["remind"],
  count: ["read"],
};

const shards: Requests<Shards> = {
  settle: ["rule", (it, settled, rule) => it.notify("ruled", rule, settled)],
  reset: ["rule"],
  homes: ["homes"],
  noteHomes: ["note homes", (it, isCurrent, term, changes) => it.notify("notedHomes", term, changes, isCurrent)],
  remember: ["remember", (it, made, home, changes) => it.notify("remembered", home, changes, made)],
  remembered: ["recall"],
  rememberedShards: ["recall"],
};

const workflows: Requests<Workflows> = {
  start: [
    "start",
    (it, outcomes, batch) => {
      it.notify("started", batch, outcomes);
      it.reminded(remindersOf(batch, outcomes));
    },
  ],
  deliver: ["arrive", (it, outcomes, batch) => it.notify("delivered", batch, outcomes)],
  complete: [
    "append",
    (it, outcomes, batch) => {
      it.notify("completed", batch, outcomes);
      for (const [i, { reminders: writes, starts }] of batch.entries()) {
        const outcome = outcomes[i];
        if (outcome?.kind === "done") it.reminded([...writes, ...remindersOf(starts, outcome.starts)]);
      }
    },
  ],
  close: ["end", (it, isDone, closing) => it.notify("ended", closing, isDone)],
  claim: ["poll", (it, claims, request) => it.notify("polled", request, claims)],
  renew: ["extend"],
  giveBack: ["give back", (it, counted, batch) => it.notify("gaveBack", batch, counted)],
  wake: ["wake"],
  history: ["read"],
  inbox: ["read"],
  find: ["read"],
  watchEnds: ["await"],
  list: ["read"],
  count: ["read"],
  seen: ["worker"],
  forgetWorker: ["worker"],
  releaseWorker: ["worker"],
  workers: ["read"],
  stickiness: ["read"],
  prune: ["prune"],
};

/** Reminders of the runs that were started. */
const remindersOf = (starts: readonly RunStart[], outcomes: readonly StartOutcome[]): ReminderWrite[] =>
  starts.flatMap((start, i) => (outcomes[i]?.isNew ? start.reminders : []));

export const REQUESTS = { coordination, reminders, shards, workflows };
