// limpet workflows [id]

import { checkWorkflowId } from "../../workflows/definition/definition.ts";
import { type CliCommand, type Context, textFlag } from "../common/command.ts";
import { asUsage, EXIT, wrongUsage } from "../common/failure.ts";
import { LISTING_FLAGS, readLimit } from "../common/listing.ts";
import { shellWord } from "../common/phrases.ts";
import { resolveTarget, TARGET_FLAGS } from "../common/target.ts";
import { ACTS, type Act, steer } from "./workflow-acts.ts";
import { showEvents, showWorkers, showWorkflow, showWorkflows } from "./workflow-listings.ts";

/** Flags that filter workflows. */
const FILTERS = ["type", "status", "queue", "attribute", "prefix", "blocked"];
/** Flags that select another view. */
const VIEWS = ["workers", "runs", "events"];
/** Flags that belong to certain operations. */
const OF_ACTS: Readonly<Record<string, readonly Act[]>> = {
  input: ["start", "signal", "query", "update"],
  reason: ["cancel", "terminate"],
  "if-running": ["start"],
  "if-ended": ["start"],
  memo: ["start"],
  build: ["start"],
  delay: ["start"],
  "run-timeout": ["start"],
  "total-timeout": ["start"],
};

export const workflowsCommand: CliCommand = {
  name: "workflows",
  summary: "Show workflows, their waits and their history; start, signal, query and end them",
  about:
    "Without arguments: the latest runs. With an id: the work and the waits of that workflow, its worker, and its\n" +
    "history as a timeline of steps and their outcomes. Any process can answer, but only one that runs workflows of its\n" +
    "type knows the state of its code (queries, and the signals it waits for).",
  arguments: [{ name: "id", optional: true, help: "Only this workflow." }],
  flags: [
    { name: "type", kind: "text", placeholder: "name", help: "Only workflows of this type." },
    {
      name: "status",
      kind: "text",
      placeholder: "status",
      help: "running, completed, failed, cancelled, terminated …",
    },
    {
      name: "queue",
      kind: "text",
      placeholder: "name",
      help: "Only this queue; with --start, the queue of the run.",
    },
    {
      name: "attribute",
      kind: "list",
      placeholder: "name=value",
      help: "Only with this attribute; with --start, an attribute of the run. May be repeated.",
    },
    { name: "blocked", kind: "switch", help: "Only blocked workflows." },
    ...LISTING_FLAGS,
    { name: "runs", kind: "switch", help: "All runs of this workflow." },
    { name: "run", kind: "text", placeholder: "run", help: "This run, not the open or latest one." },
    { name: "events", kind: "switch", help: "The stored events of its history." },
    { name: "workers", kind: "switch", help: "The workers." },
    { name: "start", kind: "text", placeholder: "type", help: "Start one of this type, under this id or a new one." },
    { name: "signal", kind: "text", placeholder: "name", help: "Send a signal." },
    { name: "query", kind: "text", placeholder: "name", help: "Send a query." },
    { name: "update", kind: "text", placeholder: "name", help: "Send an update, and wait for its result." },
    { name: "cancel", kind: "switch", help: "Request its cancellation." },
    { name: "terminate", kind: "switch", help: "End it without running its code." },
    { name: "wake", kind: "switch", help: "Retry its task now." },
    {
      name: "input",
      kind: "text",
      placeholder: "json",
      help: "The input of --start, --signal, --query, --update.",
    },
    { name: "reason", kind: "text", placeholder: "text", help: "The reason of --cancel and --terminate." },
    { name: "if-running", kind: "text", placeholder: "rule", help: "With --start: fail, existing or terminate." },
    {
      name: "if-ended",
      kind: "text",
      placeholder: "rule",
      help: "With --start: start, fail, existing, or 'start unless completed'.",
    },
    { name: "memo", kind: "text", placeholder: "json", help: "With --start: notes, an object." },
    { name: "build", kind: "text", placeholder: "name", help: "With --start: only workers of this build run it." },
    { name: "delay", kind: "text", placeholder: "duration", help: "With --start: the delay before it begins." },
    { name: "run-timeout", kind: "text", placeholder: "duration", help: "With --start: the time limit of a run." },
    {
      name: "total-timeout",
      kind: "text",
      placeholder: "duration",
      help: "With --start: the time limit of all its runs.",
    },
    ...TARGET_FLAGS,
  ],
  examples: [
    "limpet workflows",
    "limpet workflows --status running --type order --attribute customer=alice",
    "limpet workflows --blocked",
    "limpet workflows order-17",
    `limpet workflows order-17 --start order --input ${shellWord('["tea"]')}`,
    "limpet workflows order-17 --signal approved --input true",
    "limpet workflows order-17 --query progress",
    "limpet workflows order-17 --cancel --reason 'out of tea'",
  ],
  async run(context) {
    const [id] = context.args;
    const { flags } = context;
    const act = readUsage(context);
    const limit = readLimit(context);
    const target = resolveTarget(context);
    if (act !== undefined) await steer(context, target, act, id);
    else if (flags.workers === true) await showWorkers(context, target);
    else if (id === undefined || flags.runs === true) await showWorkflows(context, target, id, limit);
    else if (flags.events === true) await showEvents(context, target, id, limit);
    else await showWorkflow(context, target, id, limit);
    return EXIT.ok;
  },
};

/** The requested operation; undefined: show a view. */
function readUsage({ args, flags }: Context): Act | undefined {
  const [id] = args;
  if (id !== undefined) asUsage(() => checkWorkflowId(id));
  const given = (name: string): boolean => flags[name] !== undefined;
  const acts = ACTS.filter(given);
  const [act, another] = acts;
  if (another !== undefined) throw wrongUsage(`--${act} and --${another} exclude each other; give one of them`);
  const lost = Object.entries(OF_ACTS).find(([name, of]) => given(name) && (act === undefined || !of.includes(act)));
  if (lost !== undefined) throw wrongUsage(`--${lost[0]} belongs to ${lost[1].map((each) => `--${each}`).join(", ")}`);
  if (act === undefined) {
    checkViews(id, given);
    return undefined;
  }
  if (id === undefined && act !== "start") {
    const word = textFlag(flags, act);
    const words = `limpet workflows <id> --${act}${word === undefined ? "" : ` ${shellWord(word)}`}`;
    throw wrongUsage(`--${act} needs the id of a workflow`, words);
  }
  const forStart = act === "start" ? ["queue", "attribute"] : [];
  const shows = [...FILTERS, ...VIEWS, "limit", "all"].find((name) => given(name) && !forStart.includes(name));
  if (shows !== undefined) throw wrongUsage(`--${shows} applies to views, and --${act} shows none`);
  if (given("run") && (act === "start" || act === "wake")) {
    throw wrongUsage(
      act === "start"
        ? "--start makes a new run, so it takes no --run"
        : "--wake applies to the open run, so it takes no --run",
    );
  }
  return act;
}

function checkViews(id: string | undefined, given: (name: string) => boolean): void {
  const [view, another] = VIEWS.filter(given);
  if (another !== undefined) throw wrongUsage(`--${view} and --${another} exclude each other; give one of them`);
  if (id === undefined && view !== undefined && view !== "workers") {
    throw wrongUsage(`--${view} needs the id of a workflow`, `limpet workflows <id> --${view}`);
  }
  if (id !== undefined && view === "workers") throw wrongUsage("--workers shows all workers; leave out the id");
  if (given("run") && (id === undefined || view === "runs"))
    throw wrongUsage("--run chooses a run of one workflow: give its id");
  const filter = FILTERS.find(given);
  if (filter === undefined || (id === undefined && view === undefined)) return;
  const other = id === undefined ? `--${view}` : "an id";
  throw wrongUsage(`--${filter} applies to the list of workflows, and cannot be combined with ${other}`);
}
