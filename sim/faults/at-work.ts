// Faults at events inside a process: a request to the store, its effect, or the start of application code.
// Several families share them.
import type { Question } from "../../src/world/database/database.ts";
import type { Plan } from "../plan.ts";
import type { Player, Stage, TrapEvent } from "../stage.ts";
import { type Fault, fault, lengths, type Strike, times } from "./fault.ts";
import { atMoment, crashAndRestart, isWorking, stopAndRestart } from "./network/players.ts";

export interface AtWork {
  /** Number of the event, counted from the time of the fault. */
  readonly nth: number;
  readonly ms: number;
  readonly quietly: boolean;
}

export type Hit = (stage: Stage, player: Player, planned: AtWork, strike: Strike) => void;

export const dies: Hit = (stage, player, { nth, quietly, ms }, strike) => {
  strike(player.host.name, { nth, quietly });
  crashAndRestart(stage, player, quietly, ms);
};
export const hangs: Hit = (stage, player, { nth, ms }, strike) => {
  strike(player.host.name, { nth, ms });
  stage.sleep(player, ms, "pause");
};
export const sleeps: Hit = (stage, player, { nth, ms }, strike) => {
  strike(player.host.name, { nth, ms });
  stage.sleep(player, ms, "suspend");
};
/** The process is stopped, and releases work that it has not begun. */
export const leaves: Hit = (stage, player, { nth, ms }, strike) => {
  if (!isWorking(player)) return;
  strike(player.host.name, { nth, ms });
  stopAndRestart(stage, player, ms);
};
/** A write succeeds, its response is lost, and the retry gets a definite failure. */
export const databaseLeaves: Hit = (stage, player, { nth, ms }, strike) => {
  const { database } = stage.world;
  if (database.troubles.isDown) return;
  strike(player.host.name, { nth, ms });
  database.goDown();
  stage.undoAfter(ms, () => database.comeBack());
};

export const asks = (question: Question) => (event: TrapEvent) => event.kind === "asks" && event.question === question;
export const done = (question: Question) => (event: TrapEvent) => event.kind === "done" && event.question === question;

/**
 * Makes a pair of faults at one event: the process dies there, or it hangs there. The texts are those of the
 * first.
 */
export const inBothWays =
  <Event>(make: (name: string, summary: string, event: Event, hit: Hit) => Fault) =>
  (name: string, summary: string, event: Event): readonly [dies: Fault, hangs: Fault] => [
    make(name, summary, event, dies),
    make(name.replace("dies", "hangs"), summary.replace(" ends ", " hangs "), event, hangs),
  ];

/** Builds faults at such events, for plans that have the events. */
export const atWorkWhere =
  (isThere: (plan: Plan) => boolean) =>
  (name: string, summary: string, isIt: (event: TrapEvent) => boolean, hit: Hit): Fault =>
    fault<AtWork>({
      name,
      summary,
      draw(chance, plan) {
        if (!isThere(plan)) return [];
        const [ms, nth] = [lengths(chance, 10, 60_000), lengths(chance, 1, 8)];
        return times(chance, plan, 4, () => ({ nth: nth(), ms: ms(), quietly: chance.chance(0.5) }));
      },
      happen(stage, planned, strike) {
        atMoment(stage, planned.nth, isIt, (player) => hit(stage, player, planned, strike));
      },
    });
