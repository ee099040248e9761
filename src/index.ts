// Exports of "limpet".

export type { ActorTimers, TimerSchedule } from "./actors/activation/timers.ts";
export { Actor } from "./actors/actor.ts";
export type { MessageEnvelope as Envelope, MessageId, TypeRegion as Region } from "./actors/message-id.ts";
export type { ActorOptions } from "./actors/options/actor-options.ts";
export { daemons, singleton } from "./actors/options/daemons.ts";
export type { ShardedOptions, ShardedPlacement } from "./actors/options/sharded-options.ts";
export { sharded } from "./actors/options/sharded-options.ts";
export type { PlacementOption as Placement, StickyOptions, StickyPlacement } from "./actors/options/sticky-options.ts";
export { sticky } from "./actors/options/sticky-options.ts";
export type { ActorReminders } from "./actors/outbox/actor-reminders.ts";
export type { ActorWorkflows } from "./actors/outbox/actor-workflows.ts";
export type { ActorClass, CallSettings, Remote } from "./actors/routing/remote.ts";
export type { ShardingSettings } from "./config/limpet-settings.ts";
export type { ClusterSettings, HttpSettings, LimpetSettings, LogLevel } from "./config/settings.ts";
export type { App, LimpetOptions } from "./host/app.ts";
export { limpet } from "./host/app.ts";
export type { AppJobs, AppReminders } from "./host/app-reminders.ts";
export type { AppShards } from "./host/app-shards.ts";
export type { Duration } from "./kernel/durations.ts";
export type { ErrorCode, Verdict } from "./kernel/errors.ts";
export { isLimpetError, LimpetError } from "./kernel/errors.ts";
export type { ShardHostInfo, ShardMoveWish, ShardStrategy } from "./kernel/shard-strategy.ts";
export type { DeactivationReason } from "./ports/actor-host.ts";
export type { FailureOptions, ReminderOptions } from "./ports/reminder-options.ts";
export type { ReminderInfo, ReminderTick } from "./ports/reminder-writer.ts";
export type { ShardMove, ShardMoved, ShardPlace, ShardsHere, ShardsOfHost, ShardsView } from "./ports/shard-admin.ts";
export type { JobHandler } from "./reminders/node.ts";
export type {
  RunDescription,
  RunHistoryEvent,
  StartOptions,
  WorkflowClient,
  WorkflowHandle,
  WorkflowList,
  WorkflowQuery,
} from "./workflows/client/client.ts";
export type {
  ActivityContext,
  ActivityOptions,
  Child,
  ChildOptions,
  RetryOptions,
  RunInfo,
  WorkflowContext,
} from "./workflows/definition/context.ts";
export type { QueryName, SignalName, UpdateName, Workflow } from "./workflows/definition/definition.ts";
export { query, signal, update, workflow } from "./workflows/definition/definition.ts";
