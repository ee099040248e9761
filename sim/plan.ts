// Everything that comes from outside in one run, as plain data: which hosts there are, who calls what and when, and what goes
// wrong and when. A seed draws a plan, a run follows it, and a shrinker takes things out of it until only the cause is left.
// What is not in the plan – how long a message takes, which of two things comes first – follows from the seed in the plan.
import type { LimpetSettings } from "../src/config/settings.ts";
import type { Missed } from "../src/ports/reminder-options.ts";
import type { ClockTroubles } from "../src/world/local-clock.ts";

export interface PlannedHost {
  readonly name: string;
  readonly machine: string;
  readonly namespace: string;
  /** Types it hosts. Empty: it only calls. */
  readonly types: readonly string[];
  /** What it is there for; types may ask for one. */
  readonly roles?: readonly string[];
  readonly dedicated: boolean;
  /** It is told the address of the dedicated schedulers instead of having a scheduler of its own. */
  readonly watches: boolean;
  readonly clock: ClockTroubles;
  /** Milliseconds after the beginning. */
  readonly startsAt: number;
}

/** One call of the application. */
export interface PlannedCall {
  readonly at: number;
  /** The host it is made at. */
  readonly from: string;
  readonly type: string;
  readonly id: string;
  readonly method: string;
  readonly how: CallHow;
  readonly timeoutMs: number;
}

/** How the scripted actor behaves in this call. */
export interface CallHow {
  /** Works for so long before it changes its state. */
  readonly slowMs?: number;
  /** Throws before, or after, it has changed its state. */
  readonly throws?: "early" | "late";
  /** Goes on until its caller has given up. */
  readonly hangs?: boolean;
  /** Leaves memory afterwards. */
  readonly leaves?: boolean;
  /** The same, and wants to be forgotten. Of sharded types. */
  readonly passivates?: boolean;
  /** It is sent to the type as a whole: the message says for whom it is, on its envelope or in itself. Of sharded types. */
  readonly region?: "envelope" | "carried";
  /** Calls these first, one after the other. */
  readonly via?: readonly { readonly type: string; readonly id: string }[];
  /** The caller gives up after this. */
  readonly cancelMs?: number;
  /** Sets this reminder, for `remind`. */
  readonly remind?: PlannedReminder;
  /** Cancels the reminder of this name, for `forget`. */
  readonly forget?: string;
  /** Whoever calls does it, without a turn of the actor. */
  readonly outside?: boolean;
  /** The turn starts a workflow of this id, for `remind`. */
  readonly starts?: { readonly workflow: string; readonly steps: readonly ScriptStep[] };
  /** The turn signals this workflow, for `remind`. */
  readonly signals?: { readonly workflow: string; readonly name: string };
}

export interface PlannedReminder {
  readonly name: string;
  readonly when: {
    readonly due?: number;
    readonly every?: number;
    readonly times?: number;
    readonly ttl?: number;
    readonly missed?: Missed;
  };
  readonly onFailure?: { readonly attempts: number; readonly pause: number; readonly giveUp: "keep" | "drop" };
  readonly how: RemindHow;
}

/** How the scripted actor behaves when it is reminded. */
export interface RemindHow {
  /** Works for so long. */
  readonly slowMs?: number;
  /** So many attempts at every tick throw, when everything else is done. */
  readonly fails?: number;
  /** Goes on until nobody waits for it any more. */
  readonly hangs?: boolean;
  /** Writes the tick into its state, if it has one, so that both are stored together. */
  readonly writes?: boolean;
  /** Sets another one, which is due after so long. */
  readonly sets?: { readonly name: string; readonly due: number };
  readonly cancels?: string;
}

/** Something that goes wrong: a name of sim/faults/ and what it needs to know. */
export interface PlannedFault {
  readonly at: number;
  readonly fault: string;
  readonly [detail: string]: unknown;
}

export interface StickyRule {
  readonly lost: "reassign" | "never" | { readonly after: number };
  /** So many of them on a host. */
  readonly limit?: number;
}

/** What a strategy may do instead of what it is asked for. */
export type OddAdvice =
  /** After its time, sometimes very long after. */
  | "late"
  | "never"
  | "throws"
  /** Names a host that was there once. */
  | "gone"
  /** Names one that never was. */
  | "unknown"
  /** Names one that is there, but cannot be a home. */
  | "elsewhere"
  /** Wants one shard to move to two hosts. */
  | "twice"
  /** Wants all of them to move. */
  | "all"
  | "nonsense";

/** A strategy that the application brings. */
export interface OwnStrategyPlan {
  /** `spread`: by the number of the shard. `asker`: wherever it is called first. */
  readonly way: "spread" | "asker";
  /** How long it thinks about each shard, at most. */
  readonly thinksMs: number;
  /** It has shards move for no reason, while there is chaos. */
  readonly restless: boolean;
  /** Of what it is asked in the chaos, how much it answers in one of these ways. */
  readonly oddly: number;
  readonly odd: readonly OddAdvice[];
}

/** The application's own way from an id to a shard: by the number in it, or by a group of such numbers. */
export interface ExtractorPlan {
  readonly by: "number" | "group";
  /** Of the moments in the chaos at which it is asked, in how many it throws, or says two things of one id. */
  readonly oddly: number;
  readonly odd: "throws" | "wavers";
}

/** How the actors of a type live in shards: what `sharded()` is given. */
export interface ShardedPlan {
  readonly shards: number;
  readonly strategy: "least" | "hashed" | "told" | OwnStrategyPlan;
  readonly extractor?: ExtractorPlan;
  /** Messages to the type as a whole carry the id, and of so many of them, in the chaos, it cannot be told. */
  readonly messages?: { readonly gives: "id" | "envelope"; readonly oddly: number };
  /** Only hosts with it are homes. */
  readonly role?: string;
  /** Milliseconds. */
  readonly rebalance: number;
  readonly handOff: number;
  readonly movesAtOnce?: number;
  readonly absoluteLimit?: number;
  readonly relativeLimit?: number;
  /** Actors that one host has in memory, at most. */
  readonly maxActive?: number;
  /** Who has come to life comes back without a call, unless it has said that it wants to be forgotten. */
  readonly remember?: true;
  readonly restartAfter?: number;
  readonly startsPerSecond?: number;
}

/** A remembered actor that keeps failing waits so many times as long as after its first failure, at most. */
export const RESTARTS_DOUBLED = 4;

export interface ReminderPlan {
  /** Whether the database tells those who watch that others have written some. */
  readonly tells: boolean;
  /** Every process has this job. */
  readonly job?: { readonly every: number; readonly missed: Missed; readonly slowMs: number };
}

/** One step of a scripted workflow. */
export type ScriptStep =
  | {
      readonly do: "activity";
      /** `work`: every worker can do it. `errand`: some can, so that it may have to wait in a queue. */
      readonly name: "work" | "errand";
      readonly ms: number;
      /** So many attempts throw, of so many that are made. */
      readonly fails?: number;
      readonly attempts?: number;
      /** It never comes to an end by itself, and is given up after so long. */
      readonly hangsMs?: number;
    }
  | { readonly do: "sleep"; readonly ms: number }
  /** `within`: left out, it waits until one comes. */
  | { readonly do: "signal"; readonly name: string; readonly within?: number }
  /** Until so many bells have rung. */
  | { readonly do: "bells"; readonly count: number; readonly within: number }
  | {
      readonly do: "child";
      readonly steps: readonly ScriptStep[];
      readonly onParentClose: "terminate" | "cancel" | "abandon";
      readonly waits: boolean;
    }
  | { readonly do: "tell"; readonly workflow: string; readonly name: string }
  | { readonly do: "actor"; readonly type: string; readonly id: string }
  /** Everything that is worked out once: chance, time, versions, memo, attributes. */
  | { readonly do: "note" }
  | { readonly do: "all" | "race"; readonly parts: readonly (readonly ScriptStep[])[] }
  /** It goes on as a new run. */
  | { readonly do: "again" }
  /** It throws, and nobody catches that. */
  | { readonly do: "fail" };

/** What somebody does with a workflow. */
export type WorkflowDeed =
  | {
      readonly kind: "start";
      readonly steps: readonly ScriptStep[];
      readonly ifRunning?: "fail" | "existing" | "terminate";
      readonly ifEnded?: "start" | "start unless completed" | "fail";
      /** Only workers of this build run it. */
      readonly build?: string;
      readonly delayMs?: number;
      readonly timeoutMs?: number;
      /** When it is asked to end it does one thing more. */
      readonly cleans?: boolean;
      /** Whoever starts it waits for its end. */
      readonly waits?: boolean;
    }
  | { readonly kind: "signal"; readonly name: string }
  | { readonly kind: "update"; readonly ms: number; readonly isRefused?: boolean }
  | { readonly kind: "query" | "cancel" | "terminate" | "result" };

export interface PlannedDeed {
  readonly at: number;
  readonly from: string;
  readonly workflow: string;
  readonly deed: WorkflowDeed;
}

/** What a host can do for workflows. */
export interface PlannedWorker {
  /** Types of workflows. */
  readonly types: readonly string[];
  readonly errands: boolean;
  readonly build: string;
}

export interface WorkflowPlan {
  /** By the name of the host. Others only ask. */
  readonly workers: Readonly<Record<string, PlannedWorker>>;
  /** Whether the database tells those who watch. Where there are reminders, they decide. */
  readonly tells: boolean;
}

export interface Plan {
  /** Of the world. */
  readonly seed: number;
  readonly hosts: readonly PlannedHost[];
  /** Settings of every host; those of a namespace of its own are added. */
  readonly settings: LimpetSettings;
  /** Types that are sticky, and what becomes of their actors when a host is lost: at once, never, or after so many milliseconds. */
  readonly sticky?: Readonly<Record<string, StickyRule>>;
  /** Ids in one message about sticky actors, so that it takes several to say what a host holds. Left out: as in production. */
  readonly stickyChunk?: number;
  /** Types whose actors live in shards. */
  readonly sharded?: Readonly<Record<string, ShardedPlan>>;
  /** Reminders are on. Their settings are among those of hosts, and setting them among the calls. */
  readonly reminders?: ReminderPlan;
  /** Workflows are on. Settings of their workers are among those of hosts. */
  readonly workflows?: WorkflowPlan;
  /** What is done with them. */
  readonly deeds?: readonly PlannedDeed[];
  readonly latency: { readonly leastMs: number; readonly moreMs: number };
  /** How long things go wrong. Then everything is healed. */
  readonly chaosMs: number;
  readonly calls: readonly PlannedCall[];
  readonly faults: readonly PlannedFault[];
}
