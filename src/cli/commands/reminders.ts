// limpet reminders [type] [id]

import { checkId, checkReminderName, checkType, checkTypeFilter } from "../../kernel/names.ts";
import type { ReminderName } from "../../ports/reminder-admin.ts";
import { ask, askJson } from "../ask.ts";
import { type Command, type Context, textFlag } from "../command.ts";
import { asUsage, EXIT, wrongUsage } from "../failure.ts";
import { LISTING_FLAGS, readLimit } from "../listing.ts";
import { showDead, showReminders } from "../reminder-listings.ts";
import { shellWord } from "../shell-word.ts";
import { resolveTarget, TARGET_FLAGS, type Target } from "../target.ts";
import { safe } from "../terminal.ts";

const ACTS = ["retry", "drop", "cancel"] as const;

interface Act {
  readonly kind: (typeof ACTS)[number];
  readonly reminder: ReminderName;
}

/** Ids of reminders are not looked for by how they begin. */
const PAGING = LISTING_FLAGS.filter(({ name }) => name !== "prefix");

export const command: Command = {
  name: "reminders",
  summary: "Show reminders and when they are due, and those that were given up",
  about:
    "All reminders, those of a type, or those of one actor: when each ticks next, and whether a process has taken it on. Next\n" +
    "due first when all fit on one page, otherwise by type, id and name. Jobs are among them: their type is $ and the job's name.\n" +
    "A reminder that failed too often is given up, and kept apart until somebody tries it again or drops it.",
  arguments: [
    { name: "type", optional: true, help: "Only this type." },
    { name: "id", optional: true, help: "Only this actor." },
  ],
  flags: [
    { name: "dead", kind: "switch", help: "Those that were given up, with their error." },
    { name: "retry", kind: "text", placeholder: "name", help: "Try one that was given up again, from now." },
    { name: "drop", kind: "text", placeholder: "name", help: "Forget one that was given up." },
    { name: "cancel", kind: "text", placeholder: "name", help: "Cancel one that is set." },
    ...PAGING,
    ...TARGET_FLAGS,
  ],
  examples: [
    "limpet reminders",
    "limpet reminders Cart alice",
    "limpet reminders --dead",
    "limpet reminders Cart alice --retry pay",
    "limpet reminders Cart alice --cancel pay",
  ],
  async run(context) {
    const [type, id] = context.args;
    const act = readUsage(context);
    const limit = readLimit(context);
    const target = resolveTarget(context);
    if (act !== undefined) await perform(context, target, act);
    else if (context.flags.dead === true) await showDead(context, target, { type, id }, limit);
    else await showReminders(context, target, { type, id }, limit);
    return EXIT.ok;
  },
};

/** What is to be done with one of them; undefined: they are to be shown. */
function readUsage({ args, flags }: Context): Act | undefined {
  const [type, id] = args;
  const acts = ACTS.filter((act) => flags[act] !== undefined);
  asUsage(() => {
    if (type !== undefined) (acts.length === 0 ? checkTypeFilter : checkType)(type);
    if (id !== undefined) checkId(id);
    for (const act of acts) checkReminderName(textFlag(flags, act)!);
  });
  const [kind, another] = acts;
  if (kind === undefined) return undefined;
  if (another !== undefined) throw wrongUsage(`--${kind} and --${another} are two things to do; give one of them`);
  const name = textFlag(flags, kind)!;
  if (type === undefined || id === undefined) {
    const words = `limpet reminders ${shellWord(type ?? "Cart")} <id> --${kind} ${shellWord(name)}`;
    throw wrongUsage(`--${kind} is about one reminder, so it needs the type and the id of its actor`, words);
  }
  const paging = PAGING.find((flag) => flags[flag.name] !== undefined);
  if (paging !== undefined) throw wrongUsage(`--${paging.name} belongs to a list, and --${kind} shows none`);
  return { kind, reminder: { type, id, name } };
}

async function perform({ terminal, json }: Context, target: Target, { kind, reminder }: Act): Promise<void> {
  const { type, id, name } = reminder;
  const which = `${name} of ${type}/${id}`;
  if (kind === "cancel") {
    const path = `/v1.0/actors/${[type, id, "reminders", name].map(encodeURIComponent).join("/")}`;
    // Asked first: one that does not exist is cancelled just as well, and a slip of the pen should be noticed.
    const cancelled = await askJson<object>(target, { verb: "GET", path });
    await ask(target, { verb: "DELETE", path });
    if (json) terminal.json({ cancelled });
    else terminal.line(safe(`${which} is cancelled.`));
    return;
  }
  const path = `/v1.0/control/reminders/${kind}`;
  await ask(target, { verb: "POST", path, body: JSON.stringify(reminder) });
  if (json) terminal.json({ [kind === "retry" ? "retried" : "dropped"]: reminder });
  else if (kind === "drop") terminal.line(safe(`${which} is forgotten.`));
  else {
    const look = `limpet reminders ${shellWord(type)} ${shellWord(id)}`;
    terminal.line(safe(`${which} is tried again from now. To see how it goes: ${look}`));
  }
}
