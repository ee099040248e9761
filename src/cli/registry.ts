// The list of commands. Each is loaded only when it runs: `limpet call` must not wait for a database driver.

import type { Command } from "./command.ts";

export interface Listed {
  readonly name: string;
  readonly summary: string;
  load(): Promise<{ readonly command: Command }>;
}

export const COMMANDS: readonly Listed[] = [
  { name: "dev", summary: "Run a module that exports actors or workflows", load: () => import("./commands/dev.ts") },
  { name: "call", summary: "Call a method of an actor", load: () => import("./commands/call.ts") },
  { name: "actors", summary: "List actors", load: () => import("./commands/actors.ts") },
  {
    name: "explain",
    summary: "Show the work of one actor, and what it waits for",
    load: () => import("./commands/explain.ts"),
  },
  {
    name: "ps",
    summary: "Show the schedulers, the hosts and the tables of the cluster",
    load: () => import("./commands/ps.ts"),
  },
  { name: "where", summary: "Show the host of an actor, and why", load: () => import("./commands/where.ts") },
  {
    name: "sticky",
    summary: "Show sticky actors and their hosts, or release one",
    load: () => import("./commands/sticky.ts"),
  },
  {
    name: "shards",
    summary: "Show the homes and moves of shards; move them, or pause rebalancing",
    load: () => import("./commands/shards.ts"),
  },
  {
    name: "reminders",
    summary: "Show reminders, their due times, and dead reminders",
    load: () => import("./commands/reminders.ts"),
  },
  {
    name: "workflows",
    summary: "Show workflows, their waits and their history; start, signal, query and end them",
    load: () => import("./commands/workflows.ts"),
  },
  {
    name: "drain",
    summary: "Have a host hand over its actors to the others",
    load: () => import("./commands/drain.ts"),
  },
  { name: "scheduler", summary: "Run a dedicated scheduler", load: () => import("./commands/scheduler.ts") },
  {
    name: "doctor",
    summary: "Check that everything limpet needs is there",
    load: () => import("./commands/doctor.ts"),
  },
  { name: "help", summary: "Show help for a command, or all settings", load: () => import("./commands/help.ts") },
];
