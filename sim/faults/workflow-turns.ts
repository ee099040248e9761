// Faults at the end of a turn that starts or signals a workflow: the host loses the actor after the code of
// the turn has completed, before its commit is in the store. Other hosts call the actor meanwhile, so that
// the commit finds the actor taken. The turn and the calls are part of the fault.
import { parseDuration } from "../../src/kernel/durations.ts";
import { LEDGERS } from "../application.ts";
import { makeCall } from "../callers.ts";
import { doDeed } from "../deeds.ts";
import type { CallHow, Plan, PlannedHost } from "../plan.ts";
import { SIGNALS } from "../scripts.ts";
import type { Player, Stage } from "../stage.ts";
import { type Fault, fault, times } from "./fault.ts";
import { between, reopenDatabaseWay } from "./network/between.ts";
import { crashAndRestart, isWorking, playerOf, stopAndRestart } from "./network/players.ts";

interface TurnAtItsEnd {
  /** Hosts that call the actor if they are up, in this order. */
  readonly hosts: readonly string[];
  readonly type: string;
  readonly does: "starts" | "signals";
  /** Delay of the commit. */
  readonly ms: number;
}

/** Takes the actor from its host; pending requests to the store arrive after `ms`. */
type Loss = (stage: Stage, player: Player, ms: number) => void;

/** The workflow to be signalled exists by then. */
const AHEAD_MS = 500;
/** Times of the other calls, as parts of the delay of the commit. */
const MEANWHILE = [0.1, 0.4, 0.7, 0.9] as const;

/** Hosts that can be called, each with the types that another host of its namespace has as well. */
function sharedTypes({ hosts, chaosMs }: Plan): { readonly host: PlannedHost; readonly types: readonly string[] }[] {
  const all = hosts.filter(({ dedicated, startsAt }) => !dedicated && startsAt < chaosMs);
  return all.flatMap((host) => {
    const near = all.filter(({ namespace }) => namespace === host.namespace);
    const types = LEDGERS.filter((type) => near.filter((one) => one.types.includes(type)).length > 1);
    return types.length > 0 ? [{ host, types }] : [];
  });
}

function leaseOf({ settings: { cluster } }: Plan): number {
  const { lease = "10s" } = typeof cluster === "object" ? cluster : {};
  return parseDuration(lease, "lease");
}

/** When the code of the turn of this operation has completed. Its commit leaves in the same step. */
function atEndOf(stage: Stage, token: string, then: (player: Player) => void): void {
  stage.observers.push({
    turnEnded({ op, life }) {
      const player = op === token && stage.isChaos ? playerOf(stage, life.process) : undefined;
      if (player !== undefined && isWorking(player)) then(player);
    },
  });
}

/** Requests of the host to the database arrive late. */
function holdBack(stage: Stage, { host: { place } }: Player, ms: number): void {
  between(stage.world).databaseWays.set(place, { how: "late", waiting: [] });
  stage.undoAfter(ms, () => reopenDatabaseWay(stage.world, place));
}

function atTheEnd(name: string, summary: string, lose: Loss): Fault {
  return fault<TurnAtItsEnd>({
    name,
    summary,
    draw(chance, plan) {
      const shared = sharedTypes(plan);
      if (plan.workflows === undefined || shared.length === 0) return [];
      return times(chance, plan, 4, () => {
        const { host, types } = chance.pick(shared);
        const near = shared.filter((one) => one.host.namespace === host.namespace).map((one) => one.host.name);
        const does = chance.pick(["starts", "signals"] as const);
        // Most delays outlast the lease, so that another host may take the actor.
        const ms = Math.floor(leaseOf(plan) * chance.between(0.9, 3.5));
        return { hosts: chance.shuffle(near), type: chance.pick(types), does, ms };
      });
    },
    happen(stage, { hosts, type, does, ms, at }, strike) {
      const word = `${name.replaceAll(" ", "-")}-${at}`;
      const call = (method: string, how: CallHow, token: string, nth = 0): string | undefined => {
        const up = hosts.filter((host) => isWorking(stage.player(host)));
        const from = up[nth % up.length];
        if (from === undefined) return undefined;
        void makeCall(stage, { at, from, type, id: word, method, how, timeoutMs: 10_000 }, token);
        return `${stage.player(from).planned.namespace}:${token}`;
      };
      const workflow = `${word}-flow`;
      if (does === "signals") {
        const steps = [{ do: "signal", name: SIGNALS[0], within: ms + 10_000 }] as const;
        void doDeed(stage, { at, from: hosts[0]!, workflow, deed: { kind: "start", steps } }, `${word}-deed`);
      }
      stage.later(AHEAD_MS, () => {
        const how: CallHow =
          does === "starts"
            ? { starts: { workflow, steps: [{ do: "activity", name: "work", ms: 10 }] } }
            : { signals: { workflow, name: SIGNALS[0] } };
        const token = call("remind", how, word);
        if (token === undefined) return;
        atEndOf(stage, token, (player) => {
          strike(player.host.name, { does, ms });
          for (const [i, part] of MEANWHILE.entries()) {
            stage.later(ms * part, () => void call("append", {}, `${word}-${i}`, i));
          }
          lose(stage, player, ms);
        });
      });
    },
  });
}

export const hangsWithStart = atTheEnd(
  "hangs before it starts",
  "a process hangs between a turn that starts or signals a workflow and its commit, while its actor is called",
  (stage, player, ms) => stage.sleep(player, ms, "pause"),
);
export const sleepsWithStart = atTheEnd(
  "sleeps before it starts",
  "a machine sleeps between a turn that starts or signals a workflow and its commit, and its clock does not notice",
  (stage, player, ms) => stage.sleep(player, ms, "suspend"),
);
export const diesWithStart = atTheEnd(
  "dies before it starts",
  "a process ends after a turn that starts or signals a workflow, and its commit arrives when others have called its actor",
  (stage, player, ms) => {
    holdBack(stage, player, ms);
    // The requests have left the process by then.
    stage.later(1, () => crashAndRestart(stage, player, false, ms));
  },
);
export const stoppedWithStart = atTheEnd(
  "stopped before it starts",
  "a process is stopped after a turn that starts or signals a workflow, and its commit arrives when others have called its actor",
  (stage, player, ms) => {
    holdBack(stage, player, ms);
    stopAndRestart(stage, player, ms);
  },
);
