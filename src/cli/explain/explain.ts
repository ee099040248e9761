// limpet explain <type> <id>: requests the explanation of one actor, and formats it as plain sentences.

import type { Explanation } from "../../ports/host-admin.ts";
import { ACTOR_ARGUMENTS, actorOf } from "../common/actor-arguments.ts";
import { askAdmin } from "../common/admin.ts";
import type { CliCommand } from "../common/command.ts";
import { EXIT } from "../common/failure.ts";
import { ago, formatBytes, formatSpan, moment, plural, sentenceList } from "../common/phrases.ts";
import { resolveTarget, TARGET_FLAGS } from "../common/target.ts";
import { type Paint, safe } from "../common/terminal.ts";

export const explainCommand: CliCommand = {
  name: "explain",
  summary: "Show the work of one actor, and what it waits for",
  arguments: ACTOR_ARGUMENTS,
  flags: TARGET_FLAGS,
  examples: ["limpet explain Cart alice", "limpet explain Cart alice --json"],
  async run(context) {
    const { terminal, json } = context;
    const explanation = await askAdmin(resolveTarget(context), { kind: "explain", ...actorOf(context) });
    if (json) terminal.json(explanation);
    else terminal.line(explanationText(explanation, Date.now(), terminal.paint));
    return EXIT.ok;
  },
};

/** Items in a list; further ones are counted. */
const LISTED = 10;

export function explanationText(what: Explanation, now: number, paint: Paint): string {
  return [headline(what, paint), ...life(what, now), ...work(what), ...storage(what, now)].join("\n");
}

function headline({ summary }: Explanation, paint: Paint): string {
  return paint("bold", `${safe(summary)}.`);
}

function life({ phase, activeSince, lastUsed }: Explanation, now: number): string[] {
  if (phase === "not active" || activeSince === undefined) return [];
  const used = lastUsed === undefined ? "" : `; last used ${ago(lastUsed, now)}`;
  return [`In memory since ${moment(activeSince, now)}${used}.`];
}

function work({ running, queued, timers }: Explanation): string[] {
  const lines: string[] = [];
  // The first line describes the innermost turn; there are several when calls have returned to the actor.
  for (const { method, forMs, waitsFor } of running.length > 1 ? running.slice(0, LISTED) : []) {
    lines.push(safe(`It has been running ${method} for ${formatSpan(forMs)}; it waits for ${waitsFor}.`));
  }
  if (queued.length > 0) {
    const names = queued.slice(0, LISTED).map(({ method, forMs }) => `${method} (${formatSpan(forMs)})`);
    const more = queued.length > LISTED ? ` and ${queued.length - LISTED} more` : "";
    const calls = queued.length === 1 ? "1 call waits" : `${queued.length} calls wait`;
    lines.push(safe(`${calls} for its turn, oldest first: ${names.join(", ")}${more}.`));
  }
  if (timers.length > 0) lines.push(safe(`It has ${plural(timers.length, "timer")}: ${sentenceList(timers)}.`));
  return lines;
}

function storage({ stored }: Explanation, now: number): string[] {
  if (stored === undefined) return ["Nothing of it is in the store."];
  const { version, epoch, bytes, owner, committedAt } = stored;
  const when = committedAt === undefined ? "never committed" : `last committed ${ago(committedAt, now)}`;
  return [
    `In the store: ${formatBytes(bytes)}, version ${version}, ${when}.`,
    safe(`Epoch ${epoch}, taken by ${owner}.`),
  ];
}
