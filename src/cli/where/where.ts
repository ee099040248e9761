// limpet where <type> <id>: requests the host of one actor, and formats it with its reason as plain
// sentences.

import type { Whereabouts } from "../../ports/host-admin.ts";
import { ACTOR_ARGUMENTS, actorOf } from "../common/actor-arguments.ts";
import { askAdmin } from "../common/admin.ts";
import type { CliCommand } from "../common/command.ts";
import { EXIT } from "../common/failure.ts";
import { moment, showHost } from "../common/phrases.ts";
import { resolveTarget, TARGET_FLAGS } from "../common/target.ts";
import { type Paint, safe } from "../common/terminal.ts";
import { awayText } from "../sticky/sticky-text.ts";

export const whereCommand: CliCommand = {
  name: "where",
  summary: "Show the host of an actor, and why",
  about: "Shows the view of the requested process. The actor need not exist yet.",
  arguments: ACTOR_ARGUMENTS,
  flags: TARGET_FLAGS,
  examples: ["limpet where Cart alice", "limpet where Cart alice --json"],
  async run(context) {
    const { terminal, json } = context;
    const whereabouts = await askAdmin(resolveTarget(context), { kind: "where", ...actorOf(context) });
    if (json) terminal.json(whereabouts);
    else terminal.line(whereaboutsText(whereabouts, Date.now(), terminal.paint));
    return EXIT.ok;
  },
};

export function whereaboutsText(what: Whereabouts, now: number, paint: Paint): string {
  return [
    paint("bold", safe(headline(what))),
    ...memory(what),
    safe(sentence(what.why)),
    ...stickiness(what, now),
    ...table(what, now),
  ].join("\n");
}

function headline({ type, id, owner, ownerName, here, sticky }: Whereabouts): string {
  if (owner === undefined) return `${type}/${id} lives nowhere at this moment.`;
  const host = showHost(owner, ownerName);
  if (sticky?.away) return `${type}/${id} is kept for ${host}, which is away.`;
  return here ? `${type}/${id} lives on ${host}, the requested process.` : `${type}/${id} lives on ${host}.`;
}

/** Only the memory of the requested process is known. */
function memory({ here, activeHere }: Whereabouts): string[] {
  if (here) return [activeHere ? "It is in memory." : "It is not in memory; the next call activates it."];
  return activeHere ? ["It is still in memory of the requested process."] : [];
}

/** A sticky actor keeps its host whatever the ring assigns, so the text states whether they agree. */
function stickiness({ type, id, owner, ownerName, here, sticky }: Whereabouts, now: number): string[] {
  if (sticky === undefined) return [];
  const { since, away, ring, ringName } = sticky;
  const stuck = `Sticky ${here ? "here" : "there"} since ${moment(since, now)}`;
  if (away) return [`${stuck}.`, ...awayText(type, id, ownerName)];
  if (ring === undefined) return [`${stuck}; the ring has no host at this moment.`];
  if (ring === owner) return [`${stuck}, and the ring agrees.`];
  return [safe(`${stuck}, although the ring assigns ${showHost(ring, ringName)}.`)];
}

function table({ version, term, since }: Whereabouts, now: number): string[] {
  if (version === 0) return [];
  const inForce = since === undefined ? "" : `, in force since ${moment(since, now)}`;
  return [`Table version ${version} of term ${term}${inForce}.`];
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return first.endsWith(".") ? first : `${first}.`;
}
