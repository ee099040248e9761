// Checks that the code sees an accepted signal once and in order. Only a run that has ended for good may
// leave pending signals unseen.
import type { DeliveryOutcome, InboxMessage } from "../../../src/ports/store/workflows.ts";
import { readMessage } from "../../../src/workflows/definition/messages.ts";
import type { End } from "../../../src/workflows/engine/events.ts";
import type { ScriptInput } from "../../scripts.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOf } from "../looks.ts";
import { labelOfRun, runsOf, type SeenRun } from "./workflow-runs.ts";

interface Sent {
  readonly word: string;
  readonly name: string;
  /** The run at which it arrived. */
  readonly runId: string;
}

type Continued = Extract<End, { kind: "WorkflowContinuedAsNew" }>;

const wordsOf = ({ events }: SeenRun): string[] =>
  events.flatMap(({ event }) => (event.kind === "SignalReceived" ? [String(event.input)] : []));

const continuedOf = ({ events }: SeenRun): Continued | undefined =>
  events.map(({ event }) => event).find((event): event is Continued => event.kind === "WorkflowContinuedAsNew");

/** Words that the code has seen, by its own record. */
function seenBy(run: SeenRun): readonly string[] {
  for (const { event } of run.events) {
    if (event.kind === "WorkflowContinuedAsNew") return (event.input as ScriptInput).seen ?? [];
    if (event.kind === "WorkflowCompleted") return event.result as string[];
  }
  return [];
}

const hasSeen = (seen: readonly string[], word: string): boolean => seen.some((one) => one.endsWith(` ${word}`));

/**
 * The run ended with its first step, or before: carried-over signals may be behind the event that ended it.
 */
const isBrief = ({ pages, stored }: SeenRun): boolean =>
  pages.length <= 2 || stored.status === "terminated" || stored.status === "timed out";

export const workflowSignals: CheckerKind = {
  name: "workflow signals",
  rule: "the code sees an accepted signal once and in order, also after the workflow continues as new, and never a signal of a fenced turn",
  make(stage, report) {
    if (stage.plan.workflows === undefined) return {};
    const runs = runsOf(stage);
    const sent: Sent[] = [];

    /** The runs that continue it, one after the other. */
    function* followersOf(run: SeenRun): Generator<SeenRun> {
      for (let end = continuedOf(run); end !== undefined; ) {
        const next = runs.byRunId.get(end.runId);
        if (next === undefined) return;
        yield next;
        end = continuedOf(next);
      }
    }

    /** A run that continues as new carries over unseen signals. */
    function checkHandOver(run: SeenRun): void {
      const followers = [...followersOf(run)];
      const last = followers.at(-1);
      if (last === undefined || isBrief(last)) return;
      const seen = seenBy(run);
      const waiting = sent.filter(({ runId }) => runId === run.runId).map(({ word }) => word);
      for (const word of new Set([...wordsOf(run), ...waiting])) {
        if (hasSeen(seen, word) || followers.some((next) => wordsOf(next).includes(word))) continue;
        report(`signal ${word} has arrived at ${labelOfRun(run)}, which went on as ${last.runId} without it`);
      }
    }

    /** Signals are in the order in which the code has seen them. */
    function checkOrder(run: SeenRun): void {
      const seen = seenBy(run).map((one) => one.slice(one.lastIndexOf(" ") + 1));
      const positions = new Map(seen.map((word, i) => [word, i]));
      const mine = stage.deeds
        .filter(({ namespace, planned }) => namespace === run.namespace && planned.workflow === run.workflowId)
        .filter(({ planned, acceptedAt }) => planned.deed.kind === "signal" && acceptedAt !== undefined)
        .filter(({ token }) => positions.has(token));
      for (const one of mine) {
        for (const other of mine) {
          const areAlike = nameOf(one.planned.deed) === nameOf(other.planned.deed);
          if (!areAlike || one.acceptedAt! >= other.beganAt) continue;
          if (positions.get(one.token)! > positions.get(other.token)!)
            report(`${labelOfRun(run)} has seen ${other.token} before ${one.token}, which had been accepted before`);
        }
      }
    }

    /** Signals of fenced turns by their ids, with their turns. */
    const refused = new Map<string, string>();
    runs.watchers.push({
      added(run, { event }) {
        const turn = event.kind === "SignalReceived" ? refused.get(event.id) : undefined;
        if (turn !== undefined) report(`a turn of ${turn} came to nothing, and ${labelOfRun(run)} has its signal`);
      },
    });

    return {
      committed(_process, commit, key, outcome) {
        if (!runs.cameToNothing(commit, outcome)) return;
        for (const { data } of commit.arrivals ?? []) {
          const { message } = readMessage(data);
          if (message.kind === "SignalReceived") refused.set(message.id, labelOf(key));
        }
      },
      arrived(_process: unknown, batch: readonly InboxMessage[], outcomes: readonly DeliveryOutcome[]) {
        for (const [i, { data }] of batch.entries()) {
          const outcome = outcomes[i]!;
          const { message } = readMessage(data);
          if (outcome.kind !== "arrived" || message.kind !== "SignalReceived") continue;
          sent.push({ word: String(message.input), name: message.name, runId: outcome.runId });
        }
      },
      healed() {
        for (const run of runs.all) {
          checkHandOver(run);
          checkOrder(run);
          const seen = seenBy(run);
          const twice = seen.find((word, i) => seen.indexOf(word) !== i);
          if (twice !== undefined) report(`${labelOfRun(run)} has seen "${twice}" twice`);
        }
      },
    };
  },
};

const nameOf = (deed: { readonly kind: string; readonly name?: string }): string | undefined => deed.name;
