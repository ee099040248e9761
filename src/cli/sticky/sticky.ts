// limpet sticky [type] [id]

import { checkId, checkType } from "../../kernel/names.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import type { StickyActor } from "../../ports/host-admin.ts";
import { askAdmin } from "../common/admin.ts";
import { askJson } from "../common/ask.ts";
import { type CliCommand, type Context, textFlag } from "../common/command.ts";
import { asUsage, EXIT, Failure, wrongUsage } from "../common/failure.ts";
import { LISTING_FLAGS, readLimit, showListing } from "../common/listing.ts";
import { STICKY_RECIPE, shellWord } from "../common/phrases.ts";
import { resolveTarget, TARGET_FLAGS, type Target } from "../common/target.ts";
import { safe } from "../common/terminal.ts";
import { releasedText, STICKY_SHAPE, stickyActorText, stickyRow, stickySummary, stickyTables } from "./sticky-text.ts";

export const stickyCommand: CliCommand = {
  name: "sticky",
  summary: "Show sticky actors and their hosts, or release one",
  about:
    "Without arguments: for each sticky type, the actors of each host, and the rule for lost hosts.\n" +
    "With a type: its actors. With an id: that actor. Any process of the cluster can answer; it requests the leading scheduler.\n" +
    `To make a type sticky, add to its class: ${STICKY_RECIPE}`,
  arguments: [
    { name: "type", optional: true, help: "Only this type, actor by actor." },
    { name: "id", optional: true, help: "Only this actor." },
  ],
  flags: [
    { name: "release", kind: "switch", help: "Release this actor, so that the next call places it again." },
    ...LISTING_FLAGS,
    ...TARGET_FLAGS,
  ],
  examples: [
    "limpet sticky",
    "limpet sticky Session --prefix ali --all",
    "limpet sticky Session alice",
    "limpet sticky Session alice --release",
  ],
  async run(context) {
    const [type, id] = context.args;
    checkUsage(context);
    const limit = readLimit(context);
    const target = resolveTarget(context);
    if (type === undefined) await showTypes(context, target);
    else if (id === undefined) await showActors(context, target, type, limit);
    else if (context.flags.release === true) await release(context, target, type, id);
    else await showActor(context, target, type, id);
    return EXIT.ok;
  },
};

function checkUsage({ args, flags }: Context): void {
  const [type, id] = args;
  asUsage(() => {
    if (type !== undefined) checkType(type);
    if (id !== undefined) checkId(id);
  });
  if (flags.release === true && id === undefined) {
    const words = `limpet sticky ${shellWord(type ?? "Session")} <id> --release`;
    throw wrongUsage("--release needs the type and the id of an actor", words);
  }
  const paging = LISTING_FLAGS.find(({ name }) => flags[name] !== undefined);
  if (paging !== undefined && (type === undefined || id !== undefined)) {
    const words = `For example: limpet sticky ${shellWord(type ?? "Session")} --prefix ali`;
    throw wrongUsage(`--${paging.name} applies to the list of a type: give a type and no id`, words);
  }
}

async function showTypes({ terminal, json }: Context, target: Target): Promise<void> {
  const view = await askAdmin(target, { kind: "cluster" });
  const types = stickyTables(view);
  if (json) {
    terminal.json({ types: types.map(({ namespace, type, sticky }) => ({ namespace, type, ...sticky })) });
  } else if (types.length > 0) {
    terminal.line(stickySummary(view, terminal.paint));
  } else {
    terminal.errLine(`No type is sticky. To make a type sticky, add to its class: ${STICKY_RECIPE}`);
  }
}

async function showActors(context: Context, target: Target, type: string, limit: number): Promise<void> {
  const { terminal, flags, json } = context;
  const now = Date.now();
  const prefix = textFlag(flags, "prefix");
  const listing = {
    path: "/v1.0/inspect/sticky",
    items: "actors" as const,
    query: { type, prefix },
    shape: STICKY_SHAPE,
    row: (actor: StickyActor) => stickyRow(actor, now, terminal.paint),
  };
  const shown = await showListing(context, target, listing, limit);
  if (shown === 0) {
    const why = await explainNothing(target, type, prefix);
    if (!json) terminal.errLine(safe(why));
  }
}

/** An empty list is a valid answer with two possible reasons; an unknown type is an error. */
async function explainNothing(target: Target, type: string, prefix: string | undefined): Promise<string> {
  const about = { verb: "GET", path: "/v1.0/metadata" } as const;
  const [view, { extended }] = await Promise.all([
    askAdmin(target, { kind: "cluster" }),
    askJson<{ extended?: { namespace?: string } }>(target, about),
  ]);
  // The listing covers the namespace of the requested process.
  const tables = view.tables.filter(({ namespace }) => namespace === extended?.namespace);
  const table = tables.find((each) => each.type === type);
  if (table === undefined) {
    const types = tables.map((each) => each.type);
    const guess = didYouMean(type, types, String);
    throw new Failure("ACTOR_TYPE_UNKNOWN", `the cluster has no type ${type}${guess}`, {
      hint: `Its types: ${types.join(", ") || "none"}`,
    });
  }
  if (table.sticky === undefined) {
    return `${type} is not sticky: the ring places its actors. To make it sticky, add to its class: ${STICKY_RECIPE}`;
  }
  const which = prefix === undefined ? `an actor of ${type}` : `an actor of ${type} whose id begins with ${prefix}`;
  return `No host holds ${which}. The first call to an actor places it: limpet call ${type} <id> <method>`;
}

async function showActor({ terminal, json }: Context, target: Target, type: string, id: string): Promise<void> {
  const actor = await askAdmin(target, { kind: "holder", type, id });
  if (json) terminal.json(actor);
  else terminal.line(stickyActorText(actor, Date.now(), terminal.paint));
}

async function release({ terminal, json }: Context, target: Target, type: string, id: string): Promise<void> {
  // Requested first, so that the message can name the host.
  const actor = await askAdmin(target, { kind: "holder", type, id });
  await askAdmin(target, { kind: "release", type, id });
  if (json) terminal.json({ released: actor });
  else terminal.line(releasedText(actor));
}
