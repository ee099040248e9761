// Checks that code that replays a history from its beginning issues the same commands again.
import type { NewCommand } from "../../../src/workflows/engine/commands.ts";
import { type CommandEvent, isCommandEvent, readEventBatch, type Step } from "../../../src/workflows/engine/events.ts";
import { Execution, type ExecutionDeps } from "../../../src/workflows/engine/execution.ts";
import { SCRIPTS } from "../../scripts.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOfRun, runsOf, type SeenRun } from "./workflow-runs.ts";

/** Long histories are replayed to their end and to their middle, shorter ones to every step. */
const SHORT = 8;

/** Collects all commands, not only new ones. */
class Replay extends Execution {
  readonly decisions: CommandEvent[] = [];

  override decide(decision: NewCommand): number {
    const n = super.decide(decision);
    if (n > 0) this.decisions.push({ ...decision, n } as CommandEvent);
    return n;
  }
}

/**
 * The worker of an activity is no decision of the code. Times are compared in their JSON form, as the history
 * has them.
 */
function wordsOf(decision: CommandEvent): string {
  const { eager: _, ...rest } = decision as CommandEvent & { readonly eager?: true };
  return JSON.stringify(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The run ended by itself: no command of its code was dropped. */
const isOver = ({ stored }: SeenRun): boolean => stored.status === "completed" || stored.status === "continued";

export const workflowReplay: CheckerKind = {
  name: "workflow replay",
  rule: "a replayed history yields the same commands and the same end",
  make(stage, report) {
    if (stage.plan.workflows === undefined) return {};
    const runs = runsOf(stage);
    const needs: ExecutionDeps = {
      settle: () => new Promise<void>((resolve) => process.nextTick(resolve)),
      namespace: "",
      queue: "default",
      nameOf: () => undefined,
    };

    async function check(run: SeenRun): Promise<void> {
      const steps = run.batches.map(({ data }) => readEventBatch(data));
      const recorded = steps.flatMap(({ events }) => events).filter(isCommandEvent);
      const lengths = steps.length <= SHORT ? steps.map((_, i) => i + 1) : [steps.length >> 1, steps.length];
      for (const length of lengths) await replay(run, steps.slice(0, length), recorded, length === steps.length);
    }

    async function replay(
      run: SeenRun,
      steps: Step[],
      recorded: readonly CommandEvent[],
      isWhole: boolean,
    ): Promise<void> {
      const definition = SCRIPTS.find(({ name }) => name === run.type)!;
      const again = new Replay(definition, { ...needs, namespace: run.namespace });
      const who = `${labelOfRun(run)}, replayed to step ${steps.length},`;
      try {
        await again.replay(steps);
      } catch (error) {
        report(`${who} fails: ${error}`);
        return;
      }
      const decided = steps.flatMap(({ events }) => events).filter(isCommandEvent).length;
      // Later commands are in later steps; side effects and time may differ there.
      const wrong = again.decisions.findIndex((one, i) => {
        const other = recorded[i];
        if (other === undefined) return isWhole && isOver(run);
        return i < decided ? wordsOf(one) !== wordsOf(other) : one.kind !== other.kind;
      });
      if (wrong >= 0) {
        const other = recorded[wrong] === undefined ? "no more" : wordsOf(recorded[wrong]);
        report(`${who} decides ${wordsOf(again.decisions[wrong]!)}, and the history has ${other}`);
      } else if (again.decisions.length < decided) {
        report(`${who} makes ${again.decisions.length} of ${decided} decisions`);
      }
    }

    return {
      healed() {
        for (const run of runs.all) void check(run);
      },
    };
  },
};
