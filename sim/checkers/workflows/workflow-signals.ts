// Checks that the code sees an accepted signal once and in order. Only a run that has ended for good may
// leave pending signals unseen.
import type { DeliveryOutcome, InboxMessage } from "../../../src/ports/store/workflows.ts";
import { readMessage } from "../../../src/workflows/definition/messages.ts";
import type { RunEndEvent } from "../../../src/workflows/engine/events.ts";
import type { Observer } from "../../observer.ts";
import type { ScriptInput } from "../../scripts.ts";
import type { Checker, CheckerKind } from "../checker.ts";
import { labelOf } from "../looks.ts";
import { labelOfRun, RunChecker, type RunWatcher, type SeenEvent, type SeenRun } from "./workflow-runs.ts";

interface Sent {
  readonly word: string;
  readonly name: string;
  /** The run at which it arrived. */
  readonly runId: string;
}

type Continued = Extract<RunEndEvent, { kind: "WorkflowContinuedAsNew" }>;

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
const isBrief = ({ batches, stored }: SeenRun): boolean =>
  batches.length <= 2 || stored.status === "terminated" || stored.status === "timed out";

export const workflowSignals: CheckerKind = {
  name: "workflow signals",
  rule: "the code sees an accepted signal once and in order, also after the workflow continues as new, and never a signal of a fenced turn",
  make: (stage, report) => (stage.plan.workflows === undefined ? {} : new WorkflowSignals(stage, report)),
};

class WorkflowSignals extends RunChecker implements Checker, RunWatcher {
  readonly #sent: Sent[] = [];
  /** Signals of fenced turns by their ids, with their turns. */
  readonly #refused = new Map<string, string>();

  added(run: SeenRun, { event }: SeenEvent): void {
    const turn = event.kind === "SignalReceived" ? this.#refused.get(event.id) : undefined;
    if (turn !== undefined) this.report(`a turn of ${turn} came to nothing, and ${labelOfRun(run)} has its signal`);
  }

  committed(...[, commit, key, outcome]: Parameters<NonNullable<Observer["committed"]>>): void {
    if (!this.runs.cameToNothing(commit, outcome)) return;
    for (const { data } of commit.messages ?? []) {
      const { message } = readMessage(data);
      if (message.kind === "SignalReceived") this.#refused.set(message.id, labelOf(key));
    }
  }

  delivered(_process: unknown, batch: readonly InboxMessage[], outcomes: readonly DeliveryOutcome[]): void {
    for (const [i, { data }] of batch.entries()) {
      const outcome = outcomes[i]!;
      const { message } = readMessage(data);
      if (outcome.kind !== "delivered" || message.kind !== "SignalReceived") continue;
      this.#sent.push({ word: String(message.input), name: message.name, runId: outcome.runId });
    }
  }

  healed(): void {
    for (const run of this.runs.all) {
      this.#checkHandOver(run);
      this.#checkOrder(run);
      const seen = seenBy(run);
      const twice = seen.find((word, i) => seen.indexOf(word) !== i);
      if (twice !== undefined) this.report(`${labelOfRun(run)} has seen "${twice}" twice`);
    }
  }

  /** A run that continues as new carries over unseen signals. */
  #checkHandOver(run: SeenRun): void {
    const followers = [...this.#followersOf(run)];
    const last = followers.at(-1);
    if (last === undefined || isBrief(last)) return;
    const seen = seenBy(run);
    const waiting = this.#sent.filter(({ runId }) => runId === run.runId).map(({ word }) => word);
    for (const word of new Set([...wordsOf(run), ...waiting])) {
      if (hasSeen(seen, word) || followers.some((next) => wordsOf(next).includes(word))) continue;
      this.report(`signal ${word} has arrived at ${labelOfRun(run)}, which went on as ${last.runId} without it`);
    }
  }

  /**
   * The runs that continue it, one after the other. A restored store assigns references again, so the records
   * of two runs may mix, and the chain may come back to an earlier run.
   */
  *#followersOf(run: SeenRun): Generator<SeenRun> {
    const met = new Set([run]);
    for (let end = continuedOf(run); end !== undefined; ) {
      const next = this.runs.byRunId.get(end.runId);
      if (next === undefined || met.has(next)) return;
      met.add(next);
      yield next;
      end = continuedOf(next);
    }
  }

  /** The code sees signals of one name in the order in which they were accepted. */
  #checkOrder(run: SeenRun): void {
    const seen = seenBy(run).map((one) => one.slice(one.lastIndexOf(" ") + 1));
    const positions = new Map(seen.map((word, i) => [word, i]));
    const mine = this.stage.deeds
      .filter(({ namespace, planned }) => namespace === run.namespace && planned.workflow === run.workflowId)
      .filter(({ planned, acceptedAt }) => planned.deed.kind === "signal" && acceptedAt !== undefined)
      .filter(({ token }) => positions.has(token));
    for (const one of mine) {
      for (const other of mine) {
        const areAlike = nameOf(one.planned.deed) === nameOf(other.planned.deed);
        if (!areAlike || one.acceptedAt! >= other.beganAt) continue;
        if (positions.get(one.token)! > positions.get(other.token)!)
          this.report(`${labelOfRun(run)} has seen ${other.token} before ${one.token}, which had been accepted before`);
      }
    }
  }
}

const nameOf = (deed: { readonly kind: string; readonly name?: string }): string | undefined => deed.name;
