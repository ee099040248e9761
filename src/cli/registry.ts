// The commands there are. Each is loaded only when it runs: `limpet call` should not wait for a database driver.

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
    summary: "Say what one actor is doing, and what it waits for",
    load: () => import("./commands/explain.ts"),
  },
  {
    name: "ps",
    summary: "Show the schedulers, the hosts and the tables of the cluster",
    load: () => import("./commands/ps.ts"),
  },
  { name: "where", summary: "Say which host an actor lives on, and why", load: () => import("./commands/where.ts") },
  {
    name: "sticky",
    summary: "Show sticky actors and who holds them, or let go of one",
    load: () => import("./commands/sticky.ts"),
  },
  {
    name: "shards",
    summary: "Show where the shards of a type live and how they move; move them, or have them stay",
    load: () => import("./commands/shards.ts"),
  },
  {
    name: "reminders",
    summary: "Show reminders and when they are due, and those that were given up",
    load: () => import("./commands/reminders.ts"),
  },
  {
    name: "workflows",
    summary: "Show workflows, what they wait for and their history; start, tell, ask and end them",
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
