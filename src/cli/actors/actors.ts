// limpet actors

import { didYouMean } from "../../kernel/nearest.ts";
import type { ActorSummary } from "../../ports/host-admin.ts";
import { askJson } from "../common/ask.ts";
import { type CliCommand, type Context, textFlag } from "../common/command.ts";
import { EXIT } from "../common/failure.ts";
import { LISTING_FLAGS, type Listing, readLimit, showListing } from "../common/listing.ts";
import { formatBytes } from "../common/phrases.ts";
import { resolveTarget, TARGET_FLAGS, type Target } from "../common/target.ts";
import { safe } from "../common/terminal.ts";

export const actorsCommand: CliCommand = {
  name: "actors",
  summary: "List actors",
  about: "Actors with stored state, and those that are in memory now, by type and id.",
  arguments: [],
  flags: [
    { name: "type", kind: "text", placeholder: "type", help: "Only this type." },
    { name: "active", kind: "switch", help: "Only those in memory now." },
    ...LISTING_FLAGS,
    ...TARGET_FLAGS,
  ],
  examples: ["limpet actors", "limpet actors --type Cart --prefix ali", "limpet actors --active --all --json"],
  async run(context) {
    const { flags, json } = context;
    const limit = readLimit(context);
    const target = resolveTarget(context);
    const type = textFlag(flags, "type");
    const query = { type, prefix: textFlag(flags, "prefix"), active: flags.active === true ? "true" : undefined };
    const shown = await showListing(context, target, { ...LISTING, query }, limit);
    if (shown === 0 && !json) await explainNothing(target, type, context);
    return EXIT.ok;
  },
};

const LISTING: Omit<Listing<ActorSummary>, "query"> = {
  path: "/v1.0/inspect/actors",
  items: "actors",
  shape: [
    { title: "TYPE" },
    { title: "ID" },
    { title: "IN MEMORY" },
    { title: "WAITING", align: "right" },
    { title: "VERSION", align: "right" },
    { title: "SIZE", align: "right" },
  ],
  row: ({ type, id, active, waiting, version, bytes }) => [
    safe(type),
    safe(id),
    active ? "yes" : "-",
    waiting === 0 ? "-" : String(waiting),
    String(version ?? "-"),
    bytes === undefined ? "-" : formatBytes(bytes),
  ],
};

/** An empty list is a valid answer; this adds a hint for new users. */
async function explainNothing(target: Target, type: string | undefined, { terminal }: Context): Promise<void> {
  const { actors = [] } = await askJson<{ actors?: { type: string }[] }>(target, {
    verb: "GET",
    path: "/v1.0/metadata",
  });
  const types = actors.map((actor) => actor.type);
  if (type !== undefined && !types.includes(type)) {
    const guess = didYouMean(type, types, String) || ".";
    terminal.errLine(safe(`This process has no type ${type}${guess} Its types: ${types.join(", ") || "none"}.`));
    return;
  }
  const example = `limpet call ${type ?? types[0] ?? "Cart"} <id> <method>`;
  terminal.errLine(safe(`No actors match. The first call to an actor creates it: ${example}`));
}
