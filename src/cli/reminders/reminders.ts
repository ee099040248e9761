// limpet reminders [type] [id]

import { checkId, checkReminderName, checkType, checkTypeFilter } from "../../kernel/names.ts";
import type { ReminderName } from "../../ports/reminder-admin.ts";
import { ask, askJson } from "../common/ask.ts";
import { type CliCommand, type Context, textFlag } from "../common/command.ts";
import { asUsage, EXIT, wrongUsage } from "../common/failure.ts";
import { LISTING_FLAGS, readLimit } from "../common/listing.ts";
import { shellWord } from "../common/phrases.ts";
import { resolveTarget, TARGET_FLAGS, type Target } from "../common/target.ts";
import { safe } from "../common/terminal.ts";
import { showDead, showReminders } from "./reminder-listings.ts";

const ACTS = ["retry", "drop", "cancel"] as const;

interface Act {
  readonly kind: (typeof ACTS)[number];
  readonly reminder: ReminderName;
}

/** Reminders cannot be listed by an id prefix. */
const PAGING = LISTING_FLAGS.filter(({ name }) => name !== "prefix");

export const remindersCommand: CliCommand = {
  name: "reminders",
  summary: "Show reminders, their due times, and dead reminders",
  about:
    "All reminders, or those of a type or of one actor: the next tick of each, and whether a process has claimed it. Next\n" +
    "due first when all fit on one page, otherwise by type, id and name. Jobs are among them: their type is $ and the job's name.\n" +
    "A reminder that failed too often is dead; it is kept until an operator retries or drops it.",
  arguments: [
    { name: "type", optional: true, help: "Only this type." },
    { name: "id", optional: true, help: "Only this actor." },
  ],
  flags: [
    { name: "dead", kind: "switch", help: "Dead reminders, with their error." },
    { name: "retry", kind: "text", placeholder: "name", help: "Retry a dead reminder now." },
    { name: "drop", kind: "text", placeholder: "name", help: "Delete a dead reminder." },
    { name: "cancel", kind: "text", placeholder: "name", help: "Cancel a reminder that is set." },
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

/** The requested operation on one reminder; undefined: show the list. */
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
  if (another !== undefined) throw wrongUsage(`--${kind} and --${another} exclude each other; give one of them`);
  const name = textFlag(flags, kind)!;
  if (type === undefined || id === undefined) {
    const words = `limpet reminders ${shellWord(type ?? "Cart")} <id> --${kind} ${shellWord(name)}`;
    throw wrongUsage(`--${kind} needs the type and the id of an actor`, words);
  }
  const paging = PAGING.find((flag) => flags[flag.name] !== undefined);
  if (paging !== undefined) throw wrongUsage(`--${paging.name} applies to lists, and --${kind} shows none`);
  return { kind, reminder: { type, id, name } };
}

async function perform({ terminal, json }: Context, target: Target, { kind, reminder }: Act): Promise<void> {
  const { type, id, name } = reminder;
  const which = `${name} of ${type}/${id}`;
  if (kind === "cancel") {
    const path = `/v1.0/actors/${[type, id, "reminders", name].map(encodeURIComponent).join("/")}`;
    // Requested first: cancelling an unknown reminder succeeds too, and a typing error should be reported.
    const cancelled = await askJson<object>(target, { verb: "GET", path });
    await ask(target, { verb: "DELETE", path });
    if (json) terminal.json({ cancelled });
    else terminal.line(safe(`${which} is cancelled.`));
    return;
  }
  const path = `/v1.0/control/reminders/${kind}`;
  await ask(target, { verb: "POST", path, body: JSON.stringify(reminder) });
  if (json) terminal.json({ [kind === "retry" ? "retried" : "dropped"]: reminder });
  else if (kind === "drop") terminal.line(safe(`${which} is dropped.`));
  else {
    const look = `limpet reminders ${shellWord(type)} ${shellWord(id)}`;
    terminal.line(safe(`${which} is retried now. To follow it: ${look}`));
  }
}
