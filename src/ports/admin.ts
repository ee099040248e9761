// The requests of operators, and their answers: one union for the HTTP server, for code in the same process
// and for the control stream. Each layer passes a request on as one value; src/admin answers it.
import type {
  ActorPage,
  ClusterView,
  Explanation,
  ListQuery,
  StickyActor,
  StickyPage,
  StickyQuery,
  Whereabouts,
} from "./host-admin.ts";
import type {
  DeadReminderSummary,
  NewReminder,
  ReminderFound,
  ReminderName,
  ReminderPage,
  ReminderPageQuery,
  ReminderSummary,
} from "./reminder-admin.ts";
import type { ShardSteering, ShardsSummary, ShardsView } from "./shard-admin.ts";
import type { ReminderCounts } from "./store/reminders.ts";
import type {
  EventPage,
  NewWorkflow,
  RunName,
  WorkerOverview,
  WorkflowCounts,
  WorkflowPage,
  WorkflowPageQuery,
  WorkflowView,
} from "./workflow-admin.ts";

interface Ask<Fields, Answer> {
  readonly fields: Fields;
  readonly answer: Answer;
}

interface ActorName {
  readonly type: string;
  readonly id: string;
}

/** A signal, a query or an update of a workflow, by its name. */
interface RunMessage {
  readonly run: RunName;
  readonly name: string;
  readonly input: unknown;
}

interface Namespaced {
  readonly namespace: string;
}

/** The fields of each request of a host's operators, and its answer. */
interface HostKinds {
  list: Ask<{ readonly query: ListQuery }, ActorPage>;
  explain: Ask<ActorName, Explanation>;
  /** Rejects with NOT_READY when no leader answers. */
  cluster: Ask<object, ClusterView>;
  where: Ask<ActorName, Whereabouts>;
  /**
   * Drains a host, given by address or name: it hands over its actors, keeps running and forwards calls.
   * Rejects with HOST_UNKNOWN.
   */
  drain: Ask<{ readonly host: string }, void>;
  /** Sticky actors in order of type and id, through the leader. */
  sticky: Ask<{ readonly query: StickyQuery }, StickyPage>;
  /** The host of one sticky actor. Rejects with NOT_STICKY. */
  holder: Ask<ActorName, StickyActor>;
  /**
   * Requests the host of a sticky actor to release it, so that the next call places it again. Rejects with
   * NOT_STICKY.
   */
  release: Ask<ActorName, void>;
  /** All sharded types, in order of their names. */
  shardedTypes: Ask<object, readonly ShardsSummary[]>;
  /**
   * The shards of a type, through the leader. Rejects with NOT_SHARDED when the type is not sharded, or no
   * host has it.
   */
  shards: Ask<{ readonly type: string }, ShardsView>;
  /** Answered when the operation is durable, or has begun. Rejects with NOT_SHARDED. */
  steerShards: Ask<{ readonly type: string; readonly steering: ShardSteering }, void>;

  reminders: Ask<{ readonly query: ReminderPageQuery }, ReminderPage<ReminderSummary>>;
  deadReminders: Ask<{ readonly query: ReminderPageQuery }, ReminderPage<DeadReminderSummary>>;
  /** Each up to MOST_COUNTED. */
  reminderCounts: Ask<object, ReminderCounts>;
  reminder: Ask<{ readonly name: ReminderName }, ReminderFound | undefined>;
  /** Answered when it is stored; false: it was to be new, and it exists. */
  setReminder: Ask<{ readonly name: ReminderName; readonly request: NewReminder }, boolean>;
  cancelReminder: Ask<{ readonly name: ReminderName }, void>;
  /** Retries a dead reminder now. False: there is none, or one of its name was set meanwhile. */
  retryReminder: Ask<{ readonly name: ReminderName }, boolean>;
  /** Deletes a dead reminder. False: there is none. */
  dropReminder: Ask<{ readonly name: ReminderName }, boolean>;

  workflows: Ask<{ readonly query: WorkflowPageQuery }, WorkflowPage>;
  workflowCounts: Ask<object, WorkflowCounts>;
  workers: Ask<object, WorkerOverview>;
  /** With the latest steps of its history, this many. */
  workflow: Ask<{ readonly run: RunName; readonly steps: number }, WorkflowView>;
  workflowEvents: Ask<{ readonly run: RunName; readonly after: number; readonly limit: number }, EventPage>;
  startWorkflow: Ask<{ readonly request: NewWorkflow }, { readonly workflowId: string; readonly runId: string }>;
  signalWorkflow: Ask<RunMessage, void>;
  queryWorkflow: Ask<RunMessage, unknown>;
  /** Rejects with CALL_TIMEOUT when there is no answer in time; the update may still be executed. */
  updateWorkflow: Ask<RunMessage & { readonly timeoutMs: number | undefined }, unknown>;
  cancelWorkflow: Ask<{ readonly run: RunName; readonly reason: string }, void>;
  terminateWorkflow: Ask<{ readonly run: RunName; readonly reason: string }, void>;
  /** Its task is retried now, whatever its pause. */
  wakeWorkflow: Ask<{ readonly run: RunName }, void>;
}

/** Requests that the leader answers; it knows every namespace. All reject with NOT_LEADER elsewhere. */
interface LeaderKinds {
  cluster: HostKinds["cluster"];
  drain: HostKinds["drain"];
  /** At most LIMITS.listPage sticky actors, and where the next page begins. */
  sticky: Ask<Namespaced & HostKinds["sticky"]["fields"], StickyPage>;
  release: Ask<Namespaced & ActorName, void>;
  shards: Ask<Namespaced & HostKinds["shards"]["fields"], ShardsView>;
  steerShards: Ask<Namespaced & HostKinds["steerShards"]["fields"], void>;
}

type RequestOf<Kinds extends Record<keyof Kinds, Ask<object, unknown>>> = {
  [Kind in keyof Kinds]: { readonly kind: Kind } & Kinds[Kind]["fields"];
}[keyof Kinds];

export type AdminRequest = RequestOf<HostKinds>;
export type AdminAnswer<R extends AdminRequest> = HostKinds[R["kind"]]["answer"];

export interface AdminOptions {
  /** Aborts when the caller no longer waits for the answer. */
  readonly gone?: AbortSignal;
}

/** A host as operators see it. Rejects with REQUEST_INVALID when the kind of the request is unknown. */
export interface Admin {
  admin<R extends AdminRequest>(request: R, options?: AdminOptions): Promise<AdminAnswer<R>>;
}

export type LeaderRequest = RequestOf<LeaderKinds>;
export type LeaderAnswer<R extends LeaderRequest> = LeaderKinds[R["kind"]]["answer"];

/** The leader as operators see it, in this process or in another one. */
export interface LeaderAdmin {
  admin<R extends LeaderRequest>(request: R): Promise<LeaderAnswer<R>>;
}

/** The request changes state: when its answer is lost, the caller cannot know whether it was executed. */
export const changesState = ({ kind }: LeaderRequest): boolean =>
  kind === "drain" || kind === "release" || kind === "steerShards";
