// Options of a test's world, and their conversion into the options of its hosts.

import type { ActorClass } from "../actors/routing/remote.ts";
import type { ClusterSettings, LimpetSettings } from "../config/settings.ts";
import { invalidOption } from "../kernel/check.ts";
import type { ActivityFunction } from "../workflows/definition/context.ts";
import type { AnyWorkflow } from "../workflows/definition/definition.ts";
import type { WorldOptions } from "./world.ts";
import type { HostOptions } from "./world-host.ts";

/** Settings of `limpet()`, without those that the world provides itself. */
export interface TestWorldSettings extends Omit<LimpetSettings, "store" | "http" | "cluster" | "schedulers"> {
  readonly cluster?: Omit<ClusterSettings, "host" | "port" | "schedulerPort" | "keys">;
}

export interface TestHostChanges extends TestWorldSettings {
  /** The actor classes of the host; those of the world by default. */
  readonly actors?: readonly ActorClass[];
  /** The workflows of the host with their activities; those of the world by default. */
  readonly workflows?: readonly AnyWorkflow[];
  readonly activities?: Readonly<Record<string, ActivityFunction>>;
}

export interface TestHostOptions extends TestHostChanges {
  readonly name?: string;
  /** Hosts on one machine detect each other's crash. Each host has its own machine by default. */
  readonly machine?: string;
}

export interface TestWorldOptions extends TestWorldSettings {
  /** The actor classes of every host. */
  readonly actors?: readonly ActorClass[];
  /** The workflows of every host with their activities. */
  readonly workflows?: readonly AnyWorkflow[];
  readonly activities?: Readonly<Record<string, ActivityFunction>>;
  /** The number of hosts, their names, or their options. Three by default. */
  readonly hosts?: number | readonly (string | TestHostOptions)[];
  /** Determines every random decision. 1 by default. */
  readonly seed?: number;
}

const MOST_HOSTS = 100;
const PLAYED_BY_THE_WORLD: Record<string, string> = {
  store: "a world has a database of its own: world.database",
  http: "a world has no HTTP server; call actors through its hosts",
  schedulers: "the hosts of a world schedule among themselves",
};

export function worldOptionsOf(options: TestWorldOptions): WorldOptions & { readonly hosts: readonly HostOptions[] } {
  if (typeof options !== "object" || options === null || !Array.isArray(options.actors ?? options.workflows)) {
    throw invalidOption("actors must be a list of classes: openWorld({ actors: [Cart] })");
  }
  const { actors = [], workflows, activities, hosts = 3, seed = 1, ...settings } = options;
  if (!Number.isSafeInteger(seed)) throw invalidOption(`seed: ${seed} is not a whole number`);
  const every = { ...(workflows !== undefined && { workflows }), ...(activities !== undefined && { activities }) };
  const all = hostsOf(hosts).map((host) => ({ ...every, ...host }));
  return { actors, seed, settings: settingsOf(settings), hosts: all };
}

function hostsOf(hosts: NonNullable<TestWorldOptions["hosts"]>): readonly HostOptions[] {
  const isList = Array.isArray(hosts);
  const count = isList ? hosts.length : (hosts as number);
  if (!(Number.isInteger(count) && count >= 1 && count <= MOST_HOSTS)) {
    throw invalidOption(`hosts: ${isList ? "an empty list" : hosts} will not do; a world has 1 to ${MOST_HOSTS} hosts`);
  }
  if (!isList) return Array.from({ length: count }, () => ({}));
  const all = (hosts as readonly (string | TestHostOptions)[]).map((host, i): HostOptions => {
    if (host === "" || host === null || !["string", "object"].includes(typeof host)) {
      throw invalidOption(`hosts: ${JSON.stringify(host)} will not do; write a name or { name, … }`);
    }
    const { name = `host-${i + 1}`, machine, ...rest } = typeof host === "string" ? { name: host } : host;
    return { name, machine, ...hostOptionsOf(rest) };
  });
  const twice = all.find(({ name }, i) => all.findIndex((other) => other.name === name) !== i);
  if (twice !== undefined) throw invalidOption(`hosts: two are called ${twice.name}`);
  return all;
}

/** Unspecified options keep their values. */
export function hostOptionsOf(
  { actors, workflows, activities, ...settings }: TestHostChanges,
  before: LimpetSettings = {},
): HostOptions {
  const changed = settingsOf(settings);
  const cluster = { ...(before.cluster as ClusterSettings | undefined), ...(changed.cluster as ClusterSettings) };
  return {
    ...(actors !== undefined && { actors }),
    ...(workflows !== undefined && { workflows }),
    ...(activities !== undefined && { activities }),
    settings: { ...before, ...changed, cluster },
  };
}

function settingsOf(settings: TestWorldSettings): LimpetSettings {
  for (const [name, instead] of Object.entries(PLAYED_BY_THE_WORLD)) {
    if (name in settings) throw invalidOption(`${name}: ${instead}`);
  }
  if (settings.cluster !== undefined && typeof settings.cluster !== "object") {
    throw invalidOption("cluster: the hosts of a world form a cluster; for an app alone there is testLimpet()");
  }
  return settings;
}
