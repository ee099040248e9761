// A host of a virtual world: a name and a place in the network, at which one process after another may run.
import type { ActorClass } from "../actors/routing/remote.ts";
import { type ClusterSettings, type LimpetSettings, resolveSettings } from "../config/settings.ts";
import { type App, openApp } from "../host/app.ts";
import { invariant, LimpetError } from "../kernel/errors.ts";
import type { Prng } from "../kernel/prng.ts";
import type { ActivityFunction } from "../workflows/definition/context.ts";
import type { AnyWorkflow } from "../workflows/definition/definition.ts";
import type { ClockTroubles } from "./local-clock.ts";
import { addressOf } from "./network/network.ts";
import { type Process, SCHEDULER_PORT } from "./process.ts";
import { KIND } from "./timeline.ts";
import type { World } from "./world.ts";

export interface HostOptions {
  readonly name?: string;
  /** Hosts on one machine detect each other's crash. Each host has its own machine by default. */
  readonly machine?: string;
  readonly actors?: readonly ActorClass[];
  readonly workflows?: readonly AnyWorkflow[];
  readonly activities?: Readonly<Record<string, ActivityFunction>>;
  readonly settings?: LimpetSettings;
  /** A dedicated scheduler without actors, which takes precedence over embedded ones. */
  readonly dedicated?: boolean;
  readonly clock?: ClockTroubles;
}

/** Required on a network that is not loopback. */
const KEY = "a-key-of-a-virtual-world";

export class WorldHost {
  readonly name: string;
  readonly place: number;
  readonly machine: string;
  readonly #world: World;
  readonly #chance: Prng;
  #options: HostOptions;
  #process: Process | undefined;
  /** How long a process continues after its start has failed. 0 ends it at once. */
  lingerMs = 0;

  constructor(world: World, place: number, options: HostOptions) {
    this.#world = world;
    this.#options = options;
    this.place = place;
    this.name = options.name ?? `host-${place}`;
    this.machine = options.machine ?? `machine-${place}`;
    this.#chance = world.chance.child(this.name);
  }

  /** The process that runs here, also while it sleeps. */
  get process(): Process | undefined {
    return this.#process;
  }

  /** Address of its scheduler. */
  get schedulerAddress(): string {
    return addressOf(this.place, SCHEDULER_PORT);
  }

  get options(): HostOptions {
    return this.#options;
  }

  get isUp(): boolean {
    return this.#process?.app !== undefined;
  }

  get app(): App {
    const app = this.#process?.app;
    if (app === undefined) throw new LimpetError("NOT_READY", `${this.name} is not up`);
    return app;
  }

  /**
   * Starts a process here, with other options if they are given: that is an upgrade. Resolves when it has
   * joined the cluster; rejects if it could not join, or ended before.
   */
  start(changes: Partial<HostOptions> = {}): Promise<void> {
    invariant(this.#process === undefined, "one process at a time runs at a place");
    this.#options = { ...this.#options, ...changes };
    const process = this.#world.newProcess(this.place, this.machine, this.#options.clock ?? {}, this.#chance);
    this.#process = process;
    process.onEnd.add(() => {
      if (this.#process === process) this.#process = undefined;
    });
    return this.#world.outside(async () => {
      try {
        process.app = await this.#open(process);
      } catch (error) {
        const { timeline } = this.#world;
        if (this.lingerMs > 0)
          timeline.plan(timeline.now + this.lingerMs, KIND.script, undefined, () => process.end(false));
        // Pending waits must get the reason of the failure, not the end of the process.
        else queueMicrotask(() => process.end(false));
        throw error;
      }
    }, process);
  }

  #open(process: Process): Promise<App> {
    const { actors = this.#world.actors, workflows, activities, settings, dedicated = false } = this.#options;
    const cluster = { name: this.name, keys: [KEY], ...clusterOf(this.#world.settings), ...clusterOf(settings) };
    const code = { ...this.#world.settings, ...settings, cluster };
    const resolved = resolveSettings({ code, file: false, env: {} });
    return openApp(dedicated ? {} : { actors, workflows, activities }, resolved, {
      clock: process.clock,
      random: this.#chance.child(`process ${process.number}`),
      log: this.#world.story.logOf(this.name),
      store: process.store,
      wire: process.wire,
      clustered: true,
      dedicated,
    });
  }

  /** Stops in an orderly way: nothing is lost. A process that is still starting just ends. */
  async stop(): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    const { app } = process;
    if (app !== undefined) await this.#world.inside(() => app.stop(), process);
    process.end(false);
  }
}

const clusterOf = (settings: LimpetSettings | undefined): ClusterSettings | undefined =>
  typeof settings?.cluster === "object" ? settings.cluster : undefined;
