// Crashes and pauses in the middle of an operation.
import type { Question } from "../../src/world/database/database.ts";
import type { TrapEvent } from "../stage.ts";
import { type Fault, fault, lengths, times } from "./fault.ts";
import { atMoment, crashAndRestart } from "./network/players.ts";

const asks = (question: Question) => (event: TrapEvent) => event.kind === "asks" && event.question === question;
const done = (question: Question) => (event: TrapEvent) => event.kind === "done" && event.question === question;
const sends = ({ kind }: TrapEvent): boolean => kind === "sent";

function crashes(name: string, summary: string, isIt: (event: TrapEvent) => boolean, most: number): Fault {
  return fault<{ nth: number; quietly: boolean; restartMs: number }>({
    name,
    summary,
    draw(chance, plan) {
      const [restartMs, nth] = [lengths(chance, 10, 30_000), lengths(chance, 1, most)];
      return times(chance, plan, 3, () => ({ nth: nth(), quietly: chance.chance(0.5), restartMs: restartMs() }));
    },
    happen(stage, { nth, quietly, restartMs }, strike) {
      atMoment(stage, nth, isIt, (player) => {
        strike(player.host.name, { nth, quietly });
        crashAndRestart(stage, player, quietly, restartMs);
      });
    },
  });
}

function pauses(name: string, summary: string, isIt: (event: TrapEvent) => boolean, most: number): Fault {
  return fault<{ nth: number; ms: number }>({
    name,
    summary,
    draw(chance, plan) {
      const [ms, nth] = [lengths(chance, 50, 40_000), lengths(chance, 1, most)];
      return times(chance, plan, 3, () => ({ nth: nth(), ms: ms() }));
    },
    happen(stage, { nth, ms }, strike) {
      atMoment(stage, nth, isIt, (player) => {
        strike(player.host.name, { nth, ms });
        stage.sleep(player, ms, "pause");
      });
    },
  });
}

export const crashAfterCommit = crashes(
  "crash after commit",
  "a process ends when the database has committed and the answer has not left yet",
  done("commit"),
  10,
);
export const crashAfterTake = crashes(
  "crash after take",
  "a process ends when the database has given it an actor and it does not know yet",
  done("take"),
  6,
);
export const crashAfterCampaign = crashes(
  "crash after campaign",
  "a process ends when the database has applied its campaign, before the response",
  done("campaign"),
  10,
);
export const crashWhileSending = crashes(
  "crash while sending",
  "a process ends when it has sent a part of its messages",
  sends,
  60,
);
export const pauseBeforeCommit = pauses(
  "pause before commit",
  "a process hangs after it has looked at its lease and before its commit is sent",
  asks("commit"),
  10,
);
export const pauseBeforeTake = pauses(
  "pause before take",
  "a process hangs after it has decided to activate an actor and before it takes it",
  asks("take"),
  6,
);
export const pauseBeforeCampaign = pauses(
  "pause before campaign",
  "a process hangs after it has decided to campaign and before its campaign is sent",
  asks("campaign"),
  10,
);
