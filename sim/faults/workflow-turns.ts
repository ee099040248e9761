// Troubles at the end of a turn that starts or signals a workflow: its host loses the actor when the turn has done its work, before its
// commit is in the store. Others call the actor meanwhile, so that the commit finds it taken. The turn and the calls are part of the trouble.
import { parseDuration } from "../../src/kernel/durations.ts";
import { LEDGERS } from "../application.ts";
import { makeCall } from "../callers.ts";
import { doDeed } from "../deeds.ts";
import type { CallHow, Plan, PlannedHost } from "../plan.ts";
import { SIGNALS } from "../scripts.ts";
import type { Player, Stage } from "../stage.ts";
import { between, reopenDatabaseWay } from "./between.ts";
import { type Fault, fault, times } from "./fault.ts";
import { crashAndRestart, isWorking, playerOf, stopAndRestart } from "./players.ts";

interface TurnAtItsEnd {
  /** Where the actor is called, as far as they are up: in this order. */
  readonly hosts: readonly string[];
  readonly type: string;
  readonly does: "starts" | "signals";
  /** How long the commit is on its way. */
  readonly ms: number;
}

/** How a host loses an actor; what it was about to write arrives after `ms`. */
type Loss = (stage: Stage, player: Player, ms: number) => void;

/** Whoever is to be signalled is there by then. */
const AHEAD_MS = 500;
/** When others call, as parts of the time that the commit takes. */
const MEANWHILE = [0.1, 0.4, 0.7, 0.9] as const;

/** Hosts that can be called, each with the types that another one of its namespace has as well. */
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

/** When the code of the turn that performs this operation has come to its end. Its commit leaves in the same step. */
function atEndOf(stage: Stage, token: string, then: (player: Player) => void): void {
  stage.observers.push({
    turnEnded({ op, life }) {
      const player = op === token && stage.isChaos ? playerOf(stage, life.process) : undefined;
      if (player !== undefined && isWorking(player)) then(player);
    },
  });
}

/** What it asks of the database arrives late. */
function holdBack(stage: Stage, { host: { place } }: Player, ms: number): void {
  between(stage.world).databaseWays.set(place, { how: "late", waiting: [] });
  stage.undoAfter(ms, () => reopenDatabaseWay(stage.world, place));
}

function atTheEnd(name: string, says: string, lose: Loss): Fault {
  return fault<TurnAtItsEnd>({
    name,
    says,
    draw(chance, plan) {
      const shared = sharedTypes(plan);
      if (plan.workflows === undefined || shared.length === 0) return [];
      return times(chance, plan, 4, () => {
        const { host, types } = chance.pick(shared);
        const near = shared.filter((one) => one.host.namespace === host.namespace).map((one) => one.host.name);
        const does = chance.pick(["starts", "signals"] as const);
        // Most of them outlast the lease, so that somebody else may have the actor.
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
    // What it has asked has left by then.
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
