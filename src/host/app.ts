// A Limpet process for application code: opens the components that the settings require, in order, and closes
// them in reverse.

import { isActorClass } from "../actors/actor-type.ts";
import { Catalog } from "../actors/catalog.ts";
import { regionOf, type TypeRegion } from "../actors/message-id.ts";
import type { ActorClass, AnyActor, CallSettings, Remote } from "../actors/routing/remote.ts";
import { storeKind } from "../config/places.ts";
import { weaknessesOf } from "../config/relations.ts";
import type { LimpetSettings, Settings } from "../config/settings.ts";
import { resolveSettings } from "../config/settings.ts";
import { workerApi } from "../http-workers/api/worker-api.ts";
import { HttpWorkerService } from "../http-workers/service.ts";
import { LimpetError } from "../kernel/errors.ts";
import { createLog } from "../observe/log.ts";
import { Metrics } from "../observe/metrics.ts";
import type { Clock } from "../ports/clock.ts";
import type { Host, ServerHost } from "../ports/host-admin.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type { Store } from "../ports/store/store.ts";
import { ReminderNode } from "../reminders/node.ts";
import { openAlone } from "../sharding/remembered/manager.ts";
import { type HttpServer, openHttpServer } from "../wire/http/server.ts";
import { checkActivities, type StandIn } from "../workflows/activities/runner.ts";
import type { WorkflowClient } from "../workflows/client/client.ts";
import type { ActivityFunction } from "../workflows/definition/context.ts";
import { type AnyWorkflow, checkDefinitions } from "../workflows/definition/definition.ts";
import { WorkflowNode } from "../workflows/node.ts";
import { type AppJobs, type AppReminders, appJobs, appReminders } from "./app-reminders.ts";
import { type AppShards, appShards } from "./app-shards.ts";
import { agreeOnShards, openCluster } from "./cluster.ts";
import { type ClusterWire, systemWire } from "./cluster-wire.ts";
import { catalogSettings, reminderSettings, workflowSettings } from "./feature-settings.ts";
import { HostNode } from "./host.ts";
import { LoopWatch } from "./loop-watch.ts";
import { openStore } from "./open-store.ts";
import { checkRuntime } from "./runtime.ts";
import { ShutDown } from "./shut-down.ts";
import { systemClock, systemRandom, systemSettle } from "./system.ts";
import { claimRejections, type RejectionClaim } from "./unhandled-rejections.ts";
import { untilAnswered } from "./until-answered.ts";

export interface Definitions {
  /** The classes this process hosts. */
  readonly actors?: readonly ActorClass[];
  /** The workflows this process runs. */
  readonly workflows?: readonly AnyWorkflow[];
  /** The activities that workflows may call, by name. */
  readonly activities?: Readonly<Record<string, ActivityFunction>>;
}

export interface LimpetOptions extends LimpetSettings, Definitions {}

/** Replacements of real components, for tests. */
export interface Extras {
  readonly log?: Log;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Stays open when the app stops: the code that opened it closes it. */
  readonly store?: Store;
  /** Apps that were given the same store form a cluster. */
  readonly clustered?: boolean;
  /** True: the scheduler is dedicated, and preferred as leader. */
  readonly dedicated?: boolean;
  /** Workflows are replayed after every step, and fail if their code is not deterministic. */
  readonly checksReplay?: boolean;
  /** Runs in place of an activity. */
  readonly standIn?: StandIn;
  /** Gets the workflow node, for inspection. */
  readonly opened?: (flows: WorkflowNode) => void;
  /** Interval of health checks of the store. */
  readonly pingMs?: number;
  /**
   * How long requests of the start are retried while the store does not answer; by default `storeTimeout`.
   */
  readonly startPatienceMs?: number;
  /** The network and the processes of the cluster. */
  readonly wire?: ClusterWire;
}

export interface App extends AsyncDisposable {
  /** An actor by class and id. Its methods are those of the class, each returning a promise. */
  actor<A extends AnyActor>(type: ActorClass<A>, id: string, settings?: CallSettings): Remote<A>;
  actor<A extends AnyActor = never>(type: string, id: string, settings?: CallSettings): Remote<A>;
  /**
   * All actors of a class: each call goes to the actor that its first argument names. See `messageId` of
   * `sharded()`, and `Envelope`.
   */
  region<A extends AnyActor>(type: ActorClass<A>, settings?: CallSettings): TypeRegion<A>;
  region<A extends AnyActor = never>(type: string, settings?: CallSettings): TypeRegion<A>;
  /** Address of the HTTP server, if it is enabled. */
  readonly url: string | undefined;
  /** The interface of the servers: calls by name, listings, explanations. */
  readonly host: Host;
  /** Durable reminders of actors, from outside of them. */
  readonly reminders: AppReminders;
  /** Durable schedules that run a function instead of an actor. */
  readonly jobs: AppJobs;
  /** Starts, queries, signals and awaits workflows. */
  readonly workflows: WorkflowClient;
  /** The shards of a type: views and operations. */
  shards(type: ActorClass | string): AppShards;
  /** Hosts an additional class from now on. */
  add(type: ActorClass): Promise<void>;
  /** Stops hosting a class: its actors move to other hosts, or leave memory when there is none. */
  remove(type: ActorClass): Promise<void>;
  /** Prometheus text, as the HTTP server serves it at /metrics. */
  metrics(): string;
  /** Rejects new calls, lets running turns end, deactivates every actor, and closes the store. */
  stop(): Promise<void>;
}

/**
 * Starts Limpet in this process. The environment outweighs the settings given here; they outweigh
 * limpet.yaml.
 */
export async function limpet({ actors, workflows, activities, ...code }: LimpetOptions): Promise<App> {
  return openApp({ actors, workflows, activities }, resolveSettings({ code }));
}

export async function openApp(definitions: Definitions, settings: Settings, extras: Extras = {}): Promise<App> {
  checkRuntime();
  const { actors = [], workflows = [], activities = {} } = definitions;
  checkClasses(actors);
  checkDefinitions(workflows);
  checkActivities(activities);
  const log = extras.log ?? createLog({ level: settings.logLevel });
  const parts: Parts = { log };
  try {
    return await open({ actors, workflows, activities }, settings, extras, parts);
  } catch (error) {
    // A failed start leaves nothing behind: no member, no timer, no socket. The caller gets the error.
    await shutDown(parts);
    throw error;
  }
}

/** A dedicated scheduler: a process without actors, preferred as leader over the schedulers inside hosts. */
export function openScheduler(settings: Settings, extras: Extras = {}): Promise<App> {
  return openApp({ actors: [] }, settings, { ...extras, dedicated: true });
}

/** The parts of a process that are open, in the order in which they opened. */
interface Parts {
  readonly log: Log;
  /** Absent when the app was given a store: the caller that opened it closes it. */
  ownStore?: Store;
  alive?: NodeJS.Timeout;
  withdrawClaim?: () => void;
  loop?: LoopWatch;
  catalog?: Catalog;
  reminders?: ReminderNode;
  flows?: WorkflowNode;
  host?: HostNode;
  server?: HttpServer;
}

/** Closes the open parts in reverse order, and continues after a failure. Returns the failures. */
async function shutDown(parts: Parts): Promise<ShutDown> {
  const { log, ownStore, alive, catalog, withdrawClaim, loop, reminders, flows, host, server } = parts;
  const shut = new ShutDown(log);
  host?.close();
  // Activities and reminders may still call actors.
  await shut.close({ workflows: flows && (() => flows.stop()), reminders: reminders && (() => reminders.stop()) });
  const stopped = host?.stop() ?? catalog?.stop();
  await shut.close({ host: () => stopped, http: server && (() => server.close(stopped)) });
  await shut.close({ store: ownStore && (() => ownStore.close()) });
  clearInterval(alive);
  withdrawClaim?.();
  loop?.stop();
  return shut;
}

async function open(
  definitions: Required<Definitions>,
  settings: Settings,
  extras: Extras,
  parts: Parts,
): Promise<App> {
  const { actors = [], workflows = [], activities = {} } = definitions;
  const { clock = systemClock, random = systemRandom } = extras;
  const { log } = parts;
  for (const { option, why } of weaknessesOf(settings)) log.warn("settings.weak", { option, why });
  const meter = new Metrics();
  if (extras.store === undefined) {
    const { storeConnections: connections, storeTimeout: storeTimeoutMs } = settings;
    parts.ownStore = await openStore(settings.store, { log, connections, storeTimeoutMs });
  }
  const store = extras.store ?? parts.ownStore!;
  const catalog = new Catalog(actors, catalogSettings(settings), { clock, random, log, meter, store });
  parts.catalog = catalog;
  parts.withdrawClaim = claimRejections(claimOf(new WeakRef(catalog)));
  meter.collect(() => catalog.measure());
  const reminders = new ReminderNode(reminderSettings(settings), {
    clock,
    random,
    log,
    meter,
    catalog,
    store: store.reminders,
  });
  parts.reminders = reminders;
  catalog.connect({ reminders: reminders.writer });
  meter.collect(() => reminders.measure());
  // Before joining: the first actors may get calls and start workflows while other types still wait for their
  // tables.
  let service!: HttpWorkerService;
  const flows = new WorkflowNode(
    { workflows, activities, standIn: extras.standIn },
    { ...workflowSettings(settings, random), isChecked: extras.checksReplay },
    {
      clock,
      random,
      log,
      meter,
      reminders,
      settle: systemSettle,
      store: store.workflows,
      reminderStore: store.reminders,
      claimRejections,
      callActor: async (type, id, method, args) => catalog.calls.call(type, id, method, args, undefined),
      openHttpWorkers: (deps) => {
        service = new HttpWorkerService(deps);
        return service;
      },
    },
  );
  parts.flows = flows;
  extras.opened?.(flows);
  catalog.connect({ workflows: flows.writer });
  meter.collect(() => flows.measure());
  const wire = extras.wire ?? systemWire(settings, { log, meter, coordination: store.coordination });
  const { startPatienceMs = settings.storeTimeout } = extras;
  const world = {
    clock,
    random,
    log,
    meter,
    catalog,
    coordination: store.coordination,
    shards: store.shards,
    wire,
    startPatienceMs,
  };
  // Other processes cannot share a store in memory, unless a test passed it.
  const shared = extras.store === undefined ? storeKind(settings.store) !== "memory" : extras.clustered === true;
  const clustered = settings.cluster && shared;
  if (!clustered) {
    await agreeOnShards(settings.namespace, world);
    catalog.connect({ remembering: openAlone(settings.storeTimeout, world) });
  }
  // Must run before reminders are set or workflows are started here.
  if (extras.dedicated !== true) await untilAnswered(clock, startPatienceMs, () => reminders.learnTime());
  // A host may be assigned many actors as soon as it has joined.
  if (clustered) void store.warm?.().catch(() => {});
  const cluster = clustered ? await openCluster(settings, world, extras.dedicated ?? false) : undefined;
  if (cluster !== undefined) meter.collect(() => cluster.measure());
  const host = new HostNode(catalog, store, cluster, reminders, flows.admin, clock, extras.pingMs);
  parts.host = host;
  if (settings.reminders && extras.dedicated !== true) {
    reminders.start();
    if (settings.worker) await untilAnswered(clock, startPatienceMs, () => flows.start());
  }
  // Actors that start without a call find every component ready.
  catalog.features.remembering?.start();
  parts.server = settings.http ? await openServer(host, service, settings, meter, log) : undefined;
  // An app keeps its process alive until it stops. In a cluster its sockets do so; the clock of a test does
  // not run.
  if (clock === systemClock) {
    parts.alive = setInterval(() => {}, ALIVE_MS);
    const turnsAcross = (since: number, until: number) => catalog.turnsAcross(since, until);
    parts.loop = new LoopWatch({ clock, log, meter, turnsAcross });
  }
  return new LimpetApp({ ...parts, catalog, host, reminders, flows }, meter);
}

/**
 * The process keeps the claim until the app stops. An app that is dropped without a stop is collected all the
 * same.
 */
const claimOf =
  (catalog: WeakRef<Catalog>): RejectionClaim =>
  (reason, promise) =>
    catalog.deref()?.calls.isUnhandledCall(reason, promise) === true;

/** Any interval keeps the process alive. */
const ALIVE_MS = 2 ** 30;

function checkClasses(actors: readonly ActorClass[]): void {
  if (!Array.isArray(actors)) {
    throw new LimpetError("OPTION_INVALID", "actors must be a list of classes: limpet({ actors: [Cart] })");
  }
  for (const actor of actors as readonly unknown[]) {
    if (isActorClass(actor)) continue;
    const shown = typeof actor === "function" ? actor.name : String(actor);
    throw new LimpetError("OPTION_INVALID", `actors: ${shown} is not an actor; write class ${shown} extends Actor`);
  }
}

function openServer(
  host: ServerHost,
  workflows: HttpWorkerService,
  settings: Settings,
  meter: Metrics,
  log: Log,
): Promise<HttpServer> {
  const { httpHost, httpPort, httpTokens } = settings;
  const listen = { host: httpHost, port: httpPort, tokens: httpTokens };
  const routes = [workerApi(workflows, () => host.status())];
  return openHttpServer(host, listen, { meter, renderMetrics: () => meter.render(), log, routes });
}

class LimpetApp implements App {
  readonly host: HostNode;
  readonly reminders: AppReminders;
  readonly jobs: AppJobs;
  readonly workflows: WorkflowClient;
  readonly url: string | undefined;
  readonly #parts: Parts;
  readonly #catalog: Catalog;
  readonly #meter: Metrics;
  #stopped: Promise<void> | undefined;

  constructor(parts: Parts & Required<Pick<Parts, "catalog" | "host" | "reminders" | "flows">>, meter: Metrics) {
    const { catalog, host, reminders, flows, server } = parts;
    this.#parts = parts;
    this.#catalog = catalog;
    this.#meter = meter;
    this.host = host;
    this.reminders = appReminders(reminders, catalog);
    this.jobs = appJobs(reminders);
    this.workflows = flows.client;
    this.url = server?.url;
  }

  actor(type: ActorClass | string, id: string, settings?: CallSettings): never {
    return this.#catalog.calls.handle(type, id, settings) as never;
  }

  shards(type: ActorClass | string): AppShards {
    const { host } = this;
    return appShards(type, host, {
      here: (name) => host.shardsHere(name),
      shardOf: (name, id) => host.shardOf(name, id),
    });
  }

  region(type: ActorClass | string, settings?: CallSettings): never {
    return regionOf(this.#catalog, type, settings) as never;
  }

  async add(type: ActorClass): Promise<void> {
    checkClasses([type]);
    await this.host.add(type);
  }

  async remove(type: ActorClass): Promise<void> {
    checkClasses([type]);
    await this.host.remove(type);
  }

  metrics(): string {
    return this.#meter.render();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const shut = await shutDown(this.#parts);
    shut.done();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
