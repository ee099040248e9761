// limpet workflows [id]

import { checkWorkflowId } from "../../workflows/definition/definition.ts";
import { type Command, type Context, textFlag } from "../command.ts";
import { asUsage, EXIT, wrongUsage } from "../failure.ts";
import { LISTING_FLAGS, readLimit } from "../listing.ts";
import { shellWord } from "../shell-word.ts";
import { resolveTarget, TARGET_FLAGS } from "../target.ts";
import { ACTS, type Act, steer } from "../workflow-acts.ts";
import { showEvents, showWorkers, showWorkflow, showWorkflows } from "../workflow-listings.ts";

/** Flags that choose among workflows. */
const FILTERS = ["type", "status", "queue", "attribute", "prefix", "blocked"];
/** What else can be shown. */
const VIEWS = ["workers", "runs", "events"];
/** Flags that say more about one thing to do. */
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

export const command: Command = {
  name: "workflows",
  summary: "Show workflows, what they wait for and their history; start, tell, ask and end them",
  about:
    "Without arguments: the latest runs. With an id: what that workflow does or waits for and why, who works on it, and its\n" +
    "history as a timeline, in which what was decided stands together with what came of it. Any process may be asked; what the\n" +
    "code itself knows (queries, and which signals it waits for) is answered by one that runs workflows of its type.",
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
      help: "Only this queue; with --start, the queue it shall run in.",
    },
    {
      name: "attribute",
      kind: "list",
      placeholder: "name=value",
      help: "Only with this attribute; with --start, one that it shall have. May be repeated.",
    },
    { name: "blocked", kind: "switch", help: "Only those whose code could not go on." },
    ...LISTING_FLAGS,
    { name: "runs", kind: "switch", help: "All runs of this workflow." },
    { name: "run", kind: "text", placeholder: "run", help: "This run, not the open or latest one." },
    { name: "events", kind: "switch", help: "The events of its history, as they are stored." },
    { name: "workers", kind: "switch", help: "Who works on workflows." },
    { name: "start", kind: "text", placeholder: "type", help: "Start one of this type, under this id or a new one." },
    { name: "signal", kind: "text", placeholder: "name", help: "Tell it something." },
    { name: "query", kind: "text", placeholder: "name", help: "Ask it something." },
    { name: "update", kind: "text", placeholder: "name", help: "Have it do something, and wait for the answer." },
    { name: "cancel", kind: "switch", help: "Ask it to end." },
    { name: "terminate", kind: "switch", help: "End it, whatever its code says." },
    { name: "wake", kind: "switch", help: "Have its task tried now, whatever it waits for." },
    {
      name: "input",
      kind: "text",
      placeholder: "json",
      help: "What goes along with --start, --signal, --query, --update.",
    },
    { name: "reason", kind: "text", placeholder: "text", help: "Of --cancel and --terminate." },
    { name: "if-running", kind: "text", placeholder: "rule", help: "With --start: fail, existing or terminate." },
    {
      name: "if-ended",
      kind: "text",
      placeholder: "rule",
      help: "With --start: start, fail, existing, or 'start unless completed'.",
    },
    { name: "memo", kind: "text", placeholder: "json", help: "With --start: notes, an object." },
    { name: "build", kind: "text", placeholder: "name", help: "With --start: only workers of this build run it." },
    { name: "delay", kind: "text", placeholder: "duration", help: "With --start: it begins so much later." },
    { name: "run-timeout", kind: "text", placeholder: "duration", help: "With --start: how long a run may take." },
    {
      name: "total-timeout",
      kind: "text",
      placeholder: "duration",
      help: "With --start: how long all its runs may take.",
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

/** What is to be done; undefined: something is to be shown. */
function readUsage({ args, flags }: Context): Act | undefined {
  const [id] = args;
  if (id !== undefined) asUsage(() => checkWorkflowId(id));
  const given = (name: string): boolean => flags[name] !== undefined;
  const acts = ACTS.filter(given);
  const [act, another] = acts;
  if (another !== undefined) throw wrongUsage(`--${act} and --${another} are two things to do; give one of them`);
  const lost = Object.entries(OF_ACTS).find(([name, of]) => given(name) && (act === undefined || !of.includes(act)));
  if (lost !== undefined) throw wrongUsage(`--${lost[0]} belongs to ${lost[1].map((each) => `--${each}`).join(", ")}`);
  if (act === undefined) {
    checkViews(id, given);
    return undefined;
  }
  if (id === undefined && act !== "start") {
    const word = textFlag(flags, act);
    const words = `limpet workflows <id> --${act}${word === undefined ? "" : ` ${shellWord(word)}`}`;
    throw wrongUsage(`--${act} is about one workflow, so it needs its id`, words);
  }
  const forStart = act === "start" ? ["queue", "attribute"] : [];
  const shows = [...FILTERS, ...VIEWS, "limit", "all"].find((name) => given(name) && !forStart.includes(name));
  if (shows !== undefined) throw wrongUsage(`--${shows} belongs to what is shown, and --${act} shows nothing`);
  if (given("run") && (act === "start" || act === "wake")) {
    throw wrongUsage(
      act === "start" ? "--start makes a new run" : "--wake is about the open run, so --run makes no sense",
    );
  }
  return act;
}

function checkViews(id: string | undefined, given: (name: string) => boolean): void {
  const [view, another] = VIEWS.filter(given);
  if (another !== undefined) throw wrongUsage(`--${view} and --${another} are two things to show; give one of them`);
  if (id === undefined && view !== undefined && view !== "workers") {
    throw wrongUsage(`--${view} is about one workflow, so it needs its id`, `limpet workflows <id> --${view}`);
  }
  if (id !== undefined && view === "workers") throw wrongUsage("--workers shows all workers; leave out the id");
  if (given("run") && (id === undefined || view === "runs"))
    throw wrongUsage("--run chooses a run of one workflow: give its id");
  const filter = FILTERS.find(given);
  if (filter === undefined || (id === undefined && view === undefined)) return;
  const other = id === undefined ? `--${view}` : "an id";
  throw wrongUsage(`--${filter} belongs to the list of workflows, and makes no sense together with ${other}`);
}
