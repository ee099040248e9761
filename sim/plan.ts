// Every external input of one run, as plain data: the hosts, the calls and their times, and the faults and
// their times. A seed draws a plan, a run executes it, and a shrinker removes parts of it until only the
// cause of a failure is left. The latency of messages and the order of simultaneous events follow from the
// seed in the plan.
import type { LimpetSettings } from "../src/config/settings.ts";
import type { Missed } from "../src/ports/reminder-options.ts";
import type { ClockTroubles } from "../src/world/local-clock.ts";

export interface PlannedHost {
  readonly name: string;
  readonly machine: string;
  readonly namespace: string;
  /** Types that the host has. A host without types only calls. */
  readonly types: readonly string[];
  /** Roles of the host; a type may require one. */
  readonly roles?: readonly string[];
  readonly dedicated: boolean;
  /** The host gets the address of the dedicated schedulers instead of running a scheduler of its own. */
  readonly watches: boolean;
  readonly clock: ClockTroubles;
  /** Milliseconds since the start of the run. */
  readonly startsAt: number;
}

/** One call of the application. */
export interface PlannedCall {
  readonly at: number;
  /** Host of the caller. */
  readonly from: string;
  readonly type: string;
  readonly id: string;
  readonly method: string;
  readonly how: CallHow;
  readonly timeoutMs: number;
}

/** How the scripted actor behaves in this call. */
export interface CallHow {
  /** Works for this long before it changes its state. */
  readonly slowMs?: number;
  /** Throws before or after it changes its state. */
  readonly throws?: "early" | "late";
  /** Runs until its caller has given up. */
  readonly hangs?: boolean;
  /** Leaves memory afterwards. */
  readonly leaves?: boolean;
  /** Leaves memory afterwards and is not remembered any more. For sharded types. */
  readonly passivates?: boolean;
  /**
   * The call is sent to the type, and the message carries the id: on an envelope or in its data. For sharded
   * types.
   */
  readonly region?: "envelope" | "carried";
  /** Calls these actors first, one after the other. */
  readonly via?: readonly { readonly type: string; readonly id: string }[];
  /** The caller cancels the call after this time. */
  readonly cancelMs?: number;
  /** Sets this reminder, for `remind`. */
  readonly remind?: PlannedReminder;
  /** Cancels the reminder of this name, for `forget`. */
  readonly forget?: string;
  /** The client changes the reminder itself, without a turn of the actor. */
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
  /** Works for this long. */
  readonly slowMs?: number;
  /** Number of attempts of every tick that throw, after all their effects. */
  readonly fails?: number;
  /** Runs until the delivery times out. */
  readonly hangs?: boolean;
  /** Appends the tick to the state, if the actor has one, so that one commit stores both. */
  readonly writes?: boolean;
  /** Sets another reminder, due after this long. */
  readonly sets?: { readonly name: string; readonly due: number };
  readonly cancels?: string;
}

/** A fault: its name in sim/faults/ and its parameters. */
export interface PlannedFault {
  readonly at: number;
  readonly fault: string;
  readonly [detail: string]: unknown;
}

export interface StickyRule {
  readonly lost: "reassign" | "never" | { readonly after: number };
  /** Most actors of the type on one host. */
  readonly limit?: number;
}

/** Faulty responses of a custom strategy. */
export type OddAdvice =
  /** After the timeout, sometimes long after. */
  | "late"
  | "never"
  | "throws"
  /** Returns a host that has ended. */
  | "gone"
  /** Returns a host that never existed. */
  | "unknown"
  /** Returns a present host that cannot be a home. */
  | "elsewhere"
  /** Requests moves of one shard to two hosts. */
  | "twice"
  /** Requests moves of all shards. */
  | "all"
  | "nonsense";

/** A custom strategy of the application. */
export interface OwnStrategyPlan {
  /** `spread`: by the number of the shard. `asker`: the host of the first call. */
  readonly way: "spread" | "asker";
  /** Longest time that the strategy takes for one shard. */
  readonly thinksMs: number;
  /** During the chaos, the strategy requests moves without a reason. */
  readonly restless: boolean;
  /** Share of requests during the chaos that get a faulty response. */
  readonly oddly: number;
  readonly odd: readonly OddAdvice[];
}

/** A custom `shardOf`: by the number in the id, or by a group of such numbers. */
export interface ExtractorPlan {
  readonly by: "number" | "group";
  /** Share of moments during the chaos at which it throws, or returns two results for one id. */
  readonly oddly: number;
  readonly odd: "throws" | "wavers";
}

/** Options of a sharded type, as `sharded()` gets them. */
export interface ShardedPlan {
  readonly shards: number;
  readonly strategy: "least" | "hashed" | "external" | OwnStrategyPlan;
  readonly extractor?: ExtractorPlan;
  /**
   * Messages to the type carry the id. `oddly`: share of messages during the chaos whose id cannot be
   * determined.
   */
  readonly messages?: { readonly gives: "id" | "envelope"; readonly oddly: number };
  /** Only hosts with this role are homes. */
  readonly role?: string;
  /** Milliseconds. */
  readonly rebalance: number;
  readonly handOff: number;
  readonly movesAtOnce?: number;
  readonly absoluteLimit?: number;
  readonly relativeLimit?: number;
  /** Most actors of the type in the memory of one host. */
  readonly maxActive?: number;
  /** An active actor starts again without a call, until it passivates itself. */
  readonly remember?: true;
  readonly restartAfter?: number;
  readonly startsPerSecond?: number;
}

/** The delay between restarts of a failing remembered actor grows up to this multiple of the first delay. */
export const RESTARTS_DOUBLED = 4;

export interface ReminderPlan {
  /** True if the database notifies watching processes of reminders that others write. */
  readonly notifies: boolean;
  /** Every process has this job. */
  readonly job?: { readonly every: number; readonly missed: Missed; readonly slowMs: number };
}

/** One step of a scripted workflow. */
export type ScriptStep =
  | {
      readonly do: "activity";
      /** `work`: every worker has this activity. `errand`: only some have it, so it may wait in a queue. */
      readonly name: "work" | "errand";
      readonly ms: number;
      /** Number of attempts that throw, and the most attempts. */
      readonly fails?: number;
      readonly attempts?: number;
      /** The activity never completes by itself, and is cut off after this time. */
      readonly hangsMs?: number;
    }
  | { readonly do: "sleep"; readonly ms: number }
  /** Waits for a signal; without `within`, for ever. */
  | { readonly do: "signal"; readonly name: string; readonly within?: number }
  /** Waits until this many bells have arrived. */
  | { readonly do: "bells"; readonly count: number; readonly within: number }
  | {
      readonly do: "child";
      readonly steps: readonly ScriptStep[];
      readonly onParentClose: "terminate" | "cancel" | "abandon";
      readonly waits: boolean;
    }
  | { readonly do: "tell"; readonly workflow: string; readonly name: string }
  | { readonly do: "actor"; readonly type: string; readonly id: string }
  /** Every value that is computed once and recorded: side effects, time, versions, memo, attributes. */
  | { readonly do: "note" }
  | { readonly do: "all" | "race"; readonly parts: readonly (readonly ScriptStep[])[] }
  /** Continues as new. */
  | { readonly do: "again" }
  /** Throws an error that the script does not catch. */
  | { readonly do: "fail" };

/** An operation of a client on a workflow. */
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
      /** On cancellation, runs one activity more. */
      readonly cleans?: boolean;
      /** The client waits for the end of the run. */
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

/** Workflow types and activities of one host. */
export interface PlannedWorker {
  /** Types of workflows. */
  readonly types: readonly string[];
  readonly errands: boolean;
  readonly build: string;
}

export interface WorkflowPlan {
  /** By the name of the host. Other hosts are clients only. */
  readonly workers: Readonly<Record<string, PlannedWorker>>;
  /**
   * True if the database notifies watching processes. In a plan with reminders, the setting of the reminders
   * applies.
   */
  readonly notifies: boolean;
}

export interface Plan {
  /** Seed of the virtual world. */
  readonly seed: number;
  readonly hosts: readonly PlannedHost[];
  /** Settings of every host; those of its namespace are added. */
  readonly settings: LimpetSettings;
  /**
   * Sticky types, and when the actors of a lost host are assigned again: at once, never, or after a number of
   * milliseconds.
   */
  readonly sticky?: Readonly<Record<string, StickyRule>>;
  /**
   * Most ids in one message about sticky actors, so that a host needs several messages to report its actors.
   * Left out: the production limit.
   */
  readonly stickyChunk?: number;
  /** Sharded types. */
  readonly sharded?: Readonly<Record<string, ShardedPlan>>;
  /**
   * Present if reminders are on. Their settings are part of the host settings; the calls set and cancel them.
   */
  readonly reminders?: ReminderPlan;
  /** Present if workflows are on. Settings of workers are part of the host settings. */
  readonly workflows?: WorkflowPlan;
  /** Operations on workflows. */
  readonly deeds?: readonly PlannedDeed[];
  readonly latency: { readonly leastMs: number; readonly moreMs: number };
  /** Duration of the chaos. Healing follows. */
  readonly chaosMs: number;
  readonly calls: readonly PlannedCall[];
  readonly faults: readonly PlannedFault[];
}
