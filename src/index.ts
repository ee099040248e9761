// What `import … from "limpet"` gives.

export type { DeactivationReason } from "./actors/actor.ts";
export { Actor } from "./actors/actor.ts";
export type { ActorOptions } from "./actors/actor-options.ts";
export type { ActorReminders } from "./actors/actor-reminders.ts";
export type { ActorWorkflows } from "./actors/actor-workflows.ts";
export { daemons, singleton } from "./actors/daemons.ts";
export type { Envelope, MessageId, Region } from "./actors/message-id.ts";
export type { ActorClass, CallSettings, Remote } from "./actors/remote.ts";
export type { ShardedOptions, ShardedPlacement } from "./actors/sharded-options.ts";
export { sharded } from "./actors/sharded-options.ts";
export type { Placement, StickyOptions, StickyPlacement } from "./actors/sticky-options.ts";
export { sticky } from "./actors/sticky-options.ts";
export type { ActorTimers, TimerSchedule } from "./actors/timers.ts";
export type { ClusterSettings, HttpSettings, LimpetSettings, LogLevel } from "./config/settings.ts";
export type { ShardingSettings } from "./config/sharding-options.ts";
export type { Duration } from "./kernel/durations.ts";
export type { ErrorCode, Verdict } from "./kernel/errors.ts";
export { isLimpetError, LimpetError } from "./kernel/errors.ts";
export type { ShardHostInfo, ShardMoveWish, ShardStrategy } from "./kernel/shard-strategy.ts";
export type { App, LimpetOptions } from "./nodes/app.ts";
export { limpet } from "./nodes/app.ts";
export type { AppJobs, AppReminders } from "./nodes/app-reminders.ts";
export type { AppShards } from "./nodes/app-shards.ts";
export type { JobHandler } from "./nodes/reminder-node.ts";
export type { ReminderInfo, ReminderTick } from "./ports/reminder-book.ts";
export type { FailureOptions, ReminderOptions } from "./ports/reminder-options.ts";
export type { ShardMove, ShardMoved, ShardPlace, ShardsHere, ShardsOfHost, ShardsView } from "./ports/shard-door.ts";
export type {
  RunDescription,
  RunHistoryEvent,
  StartOptions,
  WorkflowClient,
  WorkflowHandle,
  WorkflowList,
  WorkflowQuery,
} from "./workflows/client.ts";
export type {
  ActivityContext,
  ActivityOptions,
  Child,
  ChildOptions,
  RetryOptions,
  RunInfo,
  WorkflowContext,
} from "./workflows/context.ts";
export type { QueryName, SignalName, UpdateName, Workflow } from "./workflows/definition.ts";
export { query, signal, update, workflow } from "./workflows/definition.ts";
