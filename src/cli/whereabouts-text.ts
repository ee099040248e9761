// Where one actor lives, why, and since when, as plain sentences. Pure.

import type { Whereabouts } from "../ports/host.ts";
import { ago } from "./phrases.ts";
import { type Paint, safe } from "./terminal.ts";

export function whereaboutsText(what: Whereabouts, now: number, paint: Paint): string {
  return [paint("bold", safe(headline(what))), ...memory(what), safe(sentence(what.why)), ...table(what, now)].join(
    "\n",
  );
}

function headline({ type, id, owner, ownerName, here }: Whereabouts): string {
  if (owner === undefined) return `${type}/${id} lives nowhere at this moment.`;
  const host = ownerName === undefined || ownerName === "" ? owner : `${ownerName} (${owner})`;
  return here ? `${type}/${id} lives on ${host}, the process that was asked.` : `${type}/${id} lives on ${host}.`;
}

/** Only the memory of the process that was asked is known. */
function memory({ here, activeHere }: Whereabouts): string[] {
  if (here) return [activeHere ? "It is in memory." : "It is not in memory; the next call wakes it."];
  return activeHere ? ["It is still in memory at the process that was asked."] : [];
}

function table({ version, term, since }: Whereabouts, now: number): string[] {
  if (version === 0) return [];
  const moment = since === undefined ? "" : `, in force since ${new Date(since).toISOString()} (${ago(since, now)})`;
  return [`Table version ${version} of term ${term}${moment}.`];
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return first.endsWith(".") ? first : `${first}.`;
}
