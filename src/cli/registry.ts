// The list of commands. Each is loaded only when it runs: `limpet call` must not wait for a database driver.

import type { CliCommand } from "./common/command.ts";

export interface ListedCommand {
  readonly name: string;
  readonly summary: string;
  load(): Promise<CliCommand>;
}

export const CLI_COMMANDS: readonly ListedCommand[] = [
  {
    name: "dev",
    summary: "Run a module that exports actors or workflows",
    load: async () => (await import("./dev/dev.ts")).devCommand,
  },
  {
    name: "call",
    summary: "Call a method of an actor",
    load: async () => (await import("./call/call.ts")).callCommand,
  },
  { name: "actors", summary: "List actors", load: async () => (await import("./actors/actors.ts")).actorsCommand },
  {
    name: "explain",
    summary: "Show the work of one actor, and what it waits for",
    load: async () => (await import("./explain/explain.ts")).explainCommand,
  },
  {
    name: "ps",
    summary: "Show the schedulers, the hosts and the tables of the cluster",
    load: async () => (await import("./ps/ps.ts")).psCommand,
  },
  {
    name: "where",
    summary: "Show the host of an actor, and why",
    load: async () => (await import("./where/where.ts")).whereCommand,
  },
  {
    name: "sticky",
    summary: "Show sticky actors and their hosts, or release one",
    load: async () => (await import("./sticky/sticky.ts")).stickyCommand,
  },
  {
    name: "shards",
    summary: "Show the homes and moves of shards; move them, or pause rebalancing",
    load: async () => (await import("./shards/shards.ts")).shardsCommand,
  },
  {
    name: "reminders",
    summary: "Show reminders, their due times, and dead reminders",
    load: async () => (await import("./reminders/reminders.ts")).remindersCommand,
  },
  {
    name: "workflows",
    summary: "Show workflows, their waits and their history; start, signal, query and end them",
    load: async () => (await import("./workflows/workflows.ts")).workflowsCommand,
  },
  {
    name: "drain",
    summary: "Have a host hand over its actors to the others",
    load: async () => (await import("./drain/drain.ts")).drainCommand,
  },
  {
    name: "scheduler",
    summary: "Run a dedicated scheduler",
    load: async () => (await import("./scheduler/scheduler.ts")).schedulerCommand,
  },
  {
    name: "doctor",
    summary: "Check that everything limpet needs is there",
    load: async () => (await import("./doctor/doctor.ts")).doctorCommand,
  },
  {
    name: "help",
    summary: "Show help for a command, or all settings",
    load: async () => (await import("./help/help.ts")).helpCommand,
  },
];
