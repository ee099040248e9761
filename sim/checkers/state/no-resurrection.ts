// Checks that a host never commits an actor after it lost the actor, and that an ended process does nothing.
// Requests that were in flight may still arrive at the store.
import type { Process } from "../../../src/world/process.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOf } from "../looks.ts";

/** No request takes this long to arrive at the store. */
const LAST_WORD_MS = 60_000;

export const noResurrection: CheckerKind = {
  name: "no resurrection",
  rule: "an activation never commits after a newer activation of its actor, and an ended process does nothing",
  make(stage, report) {
    const epochs = new Map<number, { readonly epoch: number; readonly process: number }>();
    const seen = new Set<string>();
    const ends = new Map<Process, { readonly at: number; readonly step: number }>();
    /** Work that was in progress in the step of the end runs on without effect. */
    const isGone = (process: Process, ms: number): boolean => {
      const end = ends.get(process);
      if (end === undefined) return false;
      return ms === 0 ? stage.world.timeline.steps > end.step : stage.now > end.at + ms;
    };
    const alive = (process: Process, what: string, ms = 0): void => {
      if (isGone(process, ms)) report(`process ${process.number} has ended, and ${what}`);
    };
    return {
      gone(_host, process) {
        ends.set(process, { at: stage.now, step: stage.world.timeline.steps });
      },
      taken(process, request, { ref, epoch }) {
        alive(process, `takes ${labelOf(request)}`, LAST_WORD_MS);
        epochs.set(ref, { epoch, process: process.number });
      },
      committed(process, { ref, epoch, id }, key, outcome) {
        alive(process, `commits ${labelOf(key)}`, LAST_WORD_MS);
        if (outcome !== "committed" || seen.has(id)) return;
        seen.add(id);
        const held = epochs.get(ref);
        if (held === undefined) report(`${labelOf(key)} was committed, and nobody had taken it`);
        else if (held.epoch !== epoch || held.process !== process.number) {
          const taker = `process ${held.process} had taken it in epoch ${held.epoch}`;
          report(`process ${process.number} committed ${labelOf(key)} in epoch ${epoch} when ${taker}`);
        }
      },
      sent: (process) => alive(process, "sends a message"),
      activated: (life) => alive(life.process, `${labelOf(life)} comes to life there`),
      turnBegan: ({ life, op }) => alive(life.process, `${labelOf(life)} begins ${op} there`),
      answered: ({ process, token }) => alive(process, `hears the answer to ${token}`),
    };
  },
};
