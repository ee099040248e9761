// Answers the requests of operators on one host: checks each request where it enters, and passes it to the
// view or the operation of its kind. The table has a row for every kind of ports/admin.ts.
import { LimpetError } from "../kernel/errors.ts";
import { checkId, checkType } from "../kernel/names.ts";
import type { Admin, AdminAnswer, AdminOptions, AdminRequest } from "../ports/admin.ts";
import type { StickyActor, StickyPage } from "../ports/host-admin.ts";
import type { ReminderAdmin } from "../ports/reminder-admin.ts";
import type { WorkflowAdmin } from "../ports/workflow-admin.ts";
import type { ActorViews } from "./actor-views.ts";
import type { ClusterAdmin } from "./cluster-admin.ts";

export interface AdminDeps {
  readonly actors: Pick<ActorViews, keyof ActorViews>;
  /** Undefined: the process is not in a cluster. */
  readonly cluster: Pick<ClusterAdmin, keyof ClusterAdmin> | undefined;
  readonly reminders: ReminderAdmin;
  readonly workflows: WorkflowAdmin;
}

type RequestOf<Kind> = Extract<AdminRequest, { kind: Kind }>;

type Answers = {
  readonly [Kind in AdminRequest["kind"]]: (
    request: RequestOf<Kind>,
    options: AdminOptions,
  ) => Promise<AdminAnswer<RequestOf<Kind>>>;
};

export function adminDispatcher(deps: AdminDeps): Admin["admin"] {
  const answers = answersOf(deps);
  return async <R extends AdminRequest>(request: R, options: AdminOptions = {}): Promise<AdminAnswer<R>> => {
    const { kind } = request;
    if (!Object.hasOwn(answers, kind)) {
      throw new LimpetError("REQUEST_INVALID", `kind must be one of ${Object.keys(answers).join(", ")}; got "${kind}"`);
    }
    if ("type" in request) checkType(request.type);
    if ("id" in request) checkId(request.id);
    // The kind of a request and its row belong together, which the type checker cannot see.
    const answer = answers[kind] as unknown as (of: R, options: AdminOptions) => Promise<AdminAnswer<R>>;
    return answer(request, options);
  };
}

function answersOf({ actors, cluster: joined, reminders, workflows }: AdminDeps): Answers {
  const cluster = () => joined ?? alone();
  return {
    list: ({ query }) => actors.list(query),
    explain: ({ type, id }) => actors.explain(type, id),

    cluster: () => cluster().view(),
    where: ({ type, id }) => cluster().where(type, id),
    drain: ({ host }) => cluster().drain(host),
    sticky: ({ query }) => cluster().sticky(query),
    holder: async ({ type, id }) => holderOf(await cluster().sticky({ type, id, limit: 1 }), type, id),
    release: ({ type, id }) => cluster().release(type, id),
    shardedTypes: () => cluster().shardedTypes(),
    shards: ({ type }) => cluster().shards(type),
    steerShards: ({ type, steering }) => cluster().steerShards(type, steering),

    reminders: ({ query }) => reminders.list(query),
    deadReminders: ({ query }) => reminders.listDead(query),
    reminderCounts: () => reminders.count(),
    reminder: ({ name }) => reminders.get(name),
    setReminder: ({ name, request }) => reminders.set(name, request),
    cancelReminder: ({ name }) => reminders.cancel(name),
    retryReminder: ({ name }) => reminders.retry(name),
    dropReminder: ({ name }) => reminders.drop(name),

    workflows: ({ query }) => workflows.list(query),
    workflowCounts: () => workflows.count(),
    workers: () => workflows.workers(),
    workflow: ({ run, steps }) => workflows.look(run, steps),
    workflowEvents: ({ run, after, limit }) => workflows.events(run, after, limit),
    startWorkflow: ({ request }) => workflows.start(request),
    signalWorkflow: ({ run, name, input }) => workflows.signal(run, name, input),
    queryWorkflow: ({ run, name, input }) => workflows.query(run, name, input),
    updateWorkflow: ({ run, name, input, timeoutMs }, { gone = new AbortController().signal }) =>
      workflows.update(run, name, input, { timeoutMs, gone }),
    cancelWorkflow: ({ run, reason }) => workflows.cancel(run, reason),
    terminateWorkflow: ({ run, reason }) => workflows.terminate(run, reason),
    wakeWorkflow: ({ run }) => workflows.wake(run),
  };
}

function holderOf({ actors }: StickyPage, type: string, id: string): StickyActor {
  if (actors[0] !== undefined) return actors[0];
  const problem = `no host holds ${type}/${id}: its type is not sticky, or no call has activated it`;
  throw new LimpetError("NOT_STICKY", problem);
}

/** A process without a cluster answers no request about one. */
export function alone(): never {
  throw new LimpetError(
    "NOT_READY",
    "this process is not in a cluster: its store is in memory, or the setting cluster is false",
  );
}
