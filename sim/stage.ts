// State of one run: the virtual world, the observers, the faults and the violations.

import { parseDuration } from "../src/kernel/durations.ts";
import type { Prng } from "../src/kernel/prng.ts";
import type { Question } from "../src/world/database/database.ts";
import type { Station } from "../src/world/network/network.ts";
import type { Process } from "../src/world/process.ts";
import { KIND } from "../src/world/timeline.ts";
import { World } from "../src/world/world.ts";
import type { WorldHost } from "../src/world/world-host.ts";
import { applicationOf, setJob } from "./application.ts";
import type { ActivityRun, DeedOperation, Observer, Operation, ReminderRun } from "./observer.ts";
import type { Plan, PlannedHost } from "./plan.ts";
import { scriptsOf } from "./scripts.ts";

export interface Violation {
  readonly checker: string;
  readonly what: string;
  /** Milliseconds since the start of the world. */
  readonly at: number;
}

/** A planned host, and its current state. */
export interface Player {
  readonly planned: PlannedHost;
  readonly host: WorldHost;
  /** Types that the host has now. */
  types: readonly string[];
}

/** A fault that waits for an event inside a process. */
interface Trap {
  readonly isMet: (event: TrapEvent) => boolean;
  readonly spring: () => void;
}

export type TrapEvent =
  | { readonly kind: "asks" | "done"; readonly process: Process; readonly question: Question }
  /** The process claimed reminders and does not have the response yet. */
  | { readonly kind: "claimed"; readonly process: Process; readonly count: number }
  /** A handler of a reminder began in the process. */
  | { readonly kind: "reminds"; readonly process: Process }
  /** The process claimed tasks of workflows and does not have the response yet. */
  | { readonly kind: "polled"; readonly process: Process; readonly count: number }
  /** An activity began in the process. */
  | { readonly kind: "works"; readonly process: Process }
  | { readonly kind: "sent"; readonly process: Process; readonly to: number; readonly message: unknown };

/** The fault that restores the database from an earlier point. */
export const RESTORED = "restored";

/**
 * Rules that hold although acknowledged work was lost. All others compare the store with acknowledged work
 * from before the restore, or rely on leases that the store has lost.
 */
const HOLDS_AFTER_RESTORE: ReadonlySet<string> = new Set([
  ...["own rows", "turn exclusion", "isolation", "bounds", "at most once", "answered in time"],
  ...["progress", "workflow progress", "sticky agreement", "shards at rest", "nothing left", "quiet log"],
  ...["no exception", "determinism"],
]);

/** Enough to diagnose a failure. */
const MOST_VIOLATIONS = 20;

export class Stage {
  readonly plan: Plan;
  readonly world: World;
  readonly chance: Prng;
  readonly players: readonly Player[];
  readonly observers: Observer[] = [];
  readonly violations: Violation[] = [];
  readonly reached = new Set<string>();
  /** Number of tolerated violations by rule: a fault was active under which the rule does not hold. */
  readonly excused = new Map<string, number>();
  readonly faults = new Map<string, number>();
  readonly operations: Operation[] = [];
  /** Operations on workflows. */
  readonly deeds: DeedOperation[] = [];
  /** False from the start of healing: no faults occur any more. */
  isChaos = true;
  /** When the database was restored from an earlier point; earlier work may be lost. */
  restoredAt: number | undefined;
  #traps = new Set<Trap>();
  #undo: (() => void)[] = [];
  #stops: Promise<void>[] = [];
  /** The newest process of each host. */
  readonly #started = new Map<Player, Process>();

  constructor(plan: Plan) {
    this.plan = plan;
    this.world = new World({ seed: plan.seed, settings: plan.settings, isDriven: true });
    this.chance = this.world.chance.child("stage");
    this.world.network.latency = { ...plan.latency };
    this.world.database.latency = { ...plan.latency };
    if (plan.faults.some(({ fault }) => fault === RESTORED)) this.world.database.keepJournal();
    this.world.database.sendsNotifications = plan.reminders?.notifies ?? plan.workflows?.notifies ?? true;
    this.players = plan.hosts.map((planned) => {
      const { name, machine, dedicated, clock } = planned;
      const host = this.world.addHost({ name, machine, dedicated, clock });
      return { planned, host, types: planned.types };
    });
    this.#observe();
  }

  #observe(): void {
    const process = (station: Station): Process => station as Process;
    this.world.database.watchers.push({
      asks: (station, question) => this.#spring({ kind: "asks", process: process(station), question }),
      done: (station, question) => {
        for (const one of this.observers) one.stored?.(process(station), question);
        this.#spring({ kind: "done", process: process(station), question });
      },
      taken: (station, request, taken) => {
        for (const one of this.observers) one.taken?.(process(station), request, taken);
      },
      committed: (station, commit, key, outcome) => {
        for (const one of this.observers) one.committed?.(process(station), commit, key, outcome);
      },
      campaigned: (station, candidate, standing) => {
        for (const one of this.observers) one.campaigned?.(process(station), candidate, standing);
      },
      reminded: (station, batch, outcomes) => {
        for (const one of this.observers) one.reminded?.(process(station), batch, outcomes);
      },
      claimed: (station, request, claim) => {
        for (const one of this.observers) one.claimed?.(process(station), request, claim);
        const count = claim.reminders.length;
        if (count > 0) this.#spring({ kind: "claimed", process: process(station), count });
      },
      settled: (station, batch, counted) => {
        for (const one of this.observers) one.settled?.(process(station), batch, counted);
      },
      started: (station, batch, outcomes) => {
        for (const one of this.observers) one.begun?.(process(station), batch, outcomes);
      },
      delivered: (station, batch, outcomes) => {
        for (const one of this.observers) one.delivered?.(process(station), batch, outcomes);
      },
      completed: (station, batch, outcomes) => {
        for (const one of this.observers) one.completed?.(process(station), batch, outcomes);
      },
      ended: (station, closing, isDone) => {
        for (const one of this.observers) one.closed?.(process(station), closing, isDone);
      },
      polled: (station, request, claims) => {
        for (const one of this.observers) one.polled?.(process(station), request, claims);
        const count = claims.tasks.length;
        if (count > 0) this.#spring({ kind: "polled", process: process(station), count });
      },
      gaveBack: (station, batch, counted) => {
        for (const one of this.observers) one.gaveBack?.(process(station), batch, counted);
      },
    });
    this.world.network.watchers.push({
      sent: (station, to, message) => {
        this.#spring({ kind: "sent", process: process(station), to, message });
        for (const one of this.observers) one.sent?.(process(station), to, message);
      },
    });
    this.world.story.onLine = (line) => {
      for (const one of this.observers) one.logged?.(line);
    };
  }

  player(name: string): Player {
    const found = this.players.find(({ planned }) => planned.name === name);
    if (found === undefined) throw new TypeError(`the plan has no host ${name}`);
    return found;
  }

  get now(): number {
    return this.world.now;
  }

  // ——— Violations.

  violation(checker: string, what: string): void {
    if (this.restoredAt !== undefined && !HOLDS_AFTER_RESTORE.has(checker)) {
      this.excuse(checker);
      return;
    }
    if (this.violations.length >= MOST_VIOLATIONS) return;
    this.violations.push({ checker, what, at: this.now });
    this.world.story.record("", "error", `VIOLATION of ${checker}: ${what}`);
  }

  excuse(checker: string): void {
    this.excused.set(checker, (this.excused.get(checker) ?? 0) + 1);
  }

  /** Records a reached situation; see coverage.ts. */
  reach(name: string): void {
    this.reached.add(name);
  }

  // ——— Faults.

  /** Records a fault that occurs now, and counts it by its name. */
  fault(name: string, who = "", fields?: Record<string, unknown>): void {
    this.faults.set(name, (this.faults.get(name) ?? 0) + 1);
    this.world.story.record(who, "warn", `⚡ ${name}`, fields);
    for (const one of this.observers) one.faulted?.(name);
  }

  /** Runs later, unless healing has begun by then. */
  later(ms: number, run: () => void): void {
    this.world.timeline.plan(this.now + ms, KIND.script, undefined, () => {
      if (this.isChaos) run();
    });
  }

  /** Ends a fault after `ms`, or when healing begins, whichever comes first. */
  undoAfter(ms: number, undo: () => void): void {
    let isDone = false;
    const once = (): void => {
      if (isDone) return;
      isDone = true;
      undo();
    };
    this.#undo.push(once);
    this.world.timeline.plan(this.now + ms, KIND.script, undefined, once);
  }

  /** Waits once for an event inside a process. */
  trap(isMet: (event: TrapEvent) => boolean, spring: () => void): void {
    this.#traps.add({ isMet, spring });
  }

  /** A handler of a reminder begins. */
  reminds(run: ReminderRun): void {
    for (const one of this.observers) one.reminderBegan?.(run);
    this.#spring({ kind: "reminds", process: run.process });
  }

  /** An activity of a workflow begins. */
  works(run: ActivityRun): void {
    this.world.timeline.noteText(run.result);
    for (const one of this.observers) one.activityBegan?.(run);
    this.#spring({ kind: "works", process: run.process });
  }

  worked(run: ActivityRun, isDone: boolean): void {
    for (const one of this.observers) one.activityEnded?.(run, isDone);
  }

  #spring(event: TrapEvent): void {
    if (this.#traps.size === 0) return;
    for (const trap of this.#traps) {
      if (!trap.isMet(event)) continue;
      this.#traps.delete(trap);
      trap.spring();
    }
  }

  // ——— Start and end of hosts.

  /** Uses other settings or another clock if they are given. */
  start({ planned, host }: Player, settings?: Plan["settings"], clock = planned.clock): void {
    if (host.process !== undefined) return;
    const player = this.player(planned.name);
    const box: { process: Process | undefined } = { process: undefined };
    const schedulers = this.#dedicated();
    const worker = this.plan.workflows?.workers[planned.name];
    const options = {
      actors: applicationOf(this, box, planned.namespace, player.types),
      ...(worker === undefined ? {} : scriptsOf(this, box, worker)),
      settings: {
        namespace: planned.namespace,
        // A process without reminders does not poll for them.
        reminders: this.plan.reminders !== undefined || this.plan.workflows !== undefined,
        ...this.plan.settings,
        ...settings,
        ...(worker === undefined
          ? {}
          : { worker: { ...workerOf({ ...this.plan.settings, ...settings }), build: worker.build } }),
        ...(planned.watches && schedulers.length > 0 ? { schedulers } : {}),
        ...(planned.roles === undefined
          ? {}
          : { cluster: { ...clusterOf({ ...this.plan.settings, ...settings }), roles: planned.roles } }),
      },
      clock,
    };
    const starting = host.start(options);
    const process = host.process!;
    box.process = process;
    this.#started.set(player, process);
    starting.then(
      () => setJob(this, process, planned),
      (error: unknown) => {
        // The process was ended, or no leader let it join in time. An operator starts it again.
        this.world.story.record(host.name, "info", "did not start", { err: error });
        if (!process.hasEnded) for (const one of this.observers) one.startFailed?.(host, process);
        this.world.timeline.plan(this.now + host.lingerMs + 1_000, KIND.script, undefined, () => {
          // Not if another attempt was made meanwhile: that process may have been stopped on purpose.
          if (this.#started.get(player) === process) this.start(player);
        });
      },
    );
    for (const one of this.observers) one.started?.(host, process);
  }

  #dedicated(): string[] {
    return this.players.filter(({ planned }) => planned.dedicated).map(({ host }) => host.schedulerAddress);
  }

  /** Ends the process without any chance to clean up. */
  crash({ host }: Player, quietly = false): void {
    const { process } = host;
    if (process === undefined) return;
    process.end(quietly);
    for (const one of this.observers) one.gone?.(host, process);
  }

  sleep({ host }: Player, ms: number, how: "pause" | "suspend"): void {
    const { process } = host;
    if (process === undefined) return;
    process.sleep(ms, how);
    for (const one of this.observers) one.slept?.(process, ms, how);
  }

  /** Stops the process in an orderly way, as an operator does. */
  stop({ host }: Player): Promise<void> {
    const { process } = host;
    if (process?.app === undefined) return Promise.resolve();
    const stopped = host.stop().then(
      () => {
        for (const one of this.observers) one.gone?.(host, process);
      },
      () => {},
    );
    this.#stops.push(stopped);
    return stopped;
  }

  /** Ends all faults, and starts the hosts that are down. */
  heal(): void {
    this.isChaos = false;
    this.#traps.clear();
    for (const undo of this.#undo.splice(0)) undo();
    this.world.heal();
    this.world.story.record("", "info", "everything is healed");
    for (const player of this.players) this.start(player);
  }

  /** The longest time that anything may take after healing. */
  get boundMs(): number {
    const {
      lease = "10s",
      leaderLease = "3s",
      roundTimeout = "8s",
    } = typeof this.plan.settings.cluster === "object" ? this.plan.settings.cluster : {};
    const sum = parseDuration(lease, "") * 2 + parseDuration(leaderLease, "") * 2 + parseDuration(roundTimeout, "");
    return sum + 15_000;
  }
}

const clusterOf = ({ cluster }: Plan["settings"]): object => (typeof cluster === "object" ? cluster : {});
const workerOf = ({ worker }: Plan["settings"]): object => (typeof worker === "object" ? worker : {});
