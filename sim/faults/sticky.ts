// Faults of sticky actors: while the leader decides on an owner, while a host reports its actors, and by
// operators and callers that release them.
import type { VirtualControlMessage } from "../../src/world/network/virtual-control.ts";
import { makeCall } from "../callers.ts";
import type { Plan, PlannedCall } from "../plan.ts";
import type { Player, Stage, TrapEvent } from "../stage.ts";
import { type Fault, fault, hostNames, lengths, type Strike, times } from "./fault.ts";
import { atNthMessage, fromHost, fromLeader, receiver, sender } from "./network/at-message.ts";
import { crashAndRestart, isWorking, leaderOf } from "./network/players.ts";
import { breakBoth, waysToLeader } from "./network/streams.ts";

const LATER_MS = 10;

const isGrant = (sent: VirtualControlMessage): boolean =>
  sent.about === "scheduler" &&
  sent.message.kind === "acquired" &&
  sent.message.answers.some(({ kind }) => kind === "granted");

/** Planned calls to sticky actors. */
const stickyCalls = ({ calls, sticky = {} }: Plan): readonly PlannedCall[] =>
  calls.filter(({ type }) => sticky[type] !== undefined);

type Target = Pick<PlannedCall, "from" | "type">;

/** Calls actors without earlier calls: each needs a grant. */
function callNew(stage: Stage, targets: readonly Target[], name: string): void {
  for (const [i, target] of targets.entries()) {
    const call = { ...target, id: `${name}-${i}`, method: "append", how: {}, timeoutMs: 10_000 };
    void makeCall(stage, { ...call, at: stage.now }, `${name}-${i}`);
  }
}

// ——— Requests and grants.

interface AtAnswer {
  /** Number of the message, counted from the time of the fault. */
  readonly nth: number;
  readonly targets: readonly Target[];
  readonly ms: number;
  readonly quietly: boolean;
}

type Hit = (stage: Stage, player: Player, planned: AtAnswer, strike: Strike) => void;

const dies: Hit = (stage, player, { nth, quietly, ms }, strike) => {
  strike(player.host.name, { nth, quietly });
  crashAndRestart(stage, player, quietly, ms);
};
const hangs: Hit = (stage, player, { nth, ms }, strike) => {
  strike(player.host.name, { nth, ms });
  stage.sleep(player, ms, "pause");
};

/**
 * Strikes the host that `chooseHost` returns when this message is sent. The fault calls new actors, so that
 * the message is sent.
 */
function atAnswer(
  name: string,
  summary: string,
  isIt: (sent: VirtualControlMessage) => boolean,
  chooseHost: (from: Player, to: Player) => Player,
  hit: Hit,
): Fault {
  return fault<AtAnswer>({
    name,
    summary,
    draw(chance, plan) {
      const calls = stickyCalls(plan);
      if (calls.length === 0) return [];
      const [ms, nth] = [lengths(chance, 10, 30_000), lengths(chance, 1, 4)];
      return times(chance, plan, 3, () => {
        const targets = Array.from({ length: 1 + chance.below(4) }, () => chance.pick(calls));
        return {
          nth: nth(),
          ms: ms(),
          quietly: chance.chance(0.5),
          targets: targets.map(({ from, type }) => ({ from, type })),
        };
      });
    },
    happen(stage, planned, strike) {
      atNthMessage(stage, planned.nth, isIt, (from, to) => hit(stage, chooseHost(from, to), planned, strike));
      callNew(stage, planned.targets, `${name.replaceAll(" ", "-")}-${planned.at}`);
    },
  });
}

/** Before an activation: the actor is granted, and no process has taken it yet. */
const atTake =
  (hit: Hit): Hit =>
  (stage, player, planned, strike) => {
    const { process } = player.host;
    const isTaking = (event: TrapEvent): boolean =>
      event.kind === "asks" && event.question === "take" && event.process === process;
    stage.trap(isTaking, () => hit(stage, player, planned, strike));
  };

export const leaderDiesAtAcquire = atAnswer(
  "leader dies at acquire",
  "the leader ends when a host asks it for a sticky actor",
  fromHost("acquire"),
  receiver,
  dies,
);
export const leaderDiesAtGrant = atAnswer(
  "leader dies at grant",
  "the leader ends when it has granted a sticky actor, before any other process knows it",
  isGrant,
  sender,
  dies,
);
export const leaderHangsAtGrant = atAnswer(
  "leader hangs at grant",
  "the leader hangs when it has granted a sticky actor",
  isGrant,
  sender,
  hangs,
);
export const ownerDiesAtGrant = atAnswer(
  "owner dies at grant",
  "a host ends while a sticky actor that it asked for is being granted to it",
  isGrant,
  receiver,
  dies,
);
export const ownerDiesBeforeTake = atAnswer(
  "owner dies before take",
  "a host ends when a sticky actor was granted to it and has not come to life yet",
  isGrant,
  receiver,
  atTake(dies),
);
export const ownerHangsBeforeTake = atAnswer(
  "owner hangs before take",
  "a host hangs when a sticky actor was granted to it and has not come to life yet",
  isGrant,
  receiver,
  atTake(hangs),
);

// ——— Reports of held actors.

interface AtClaims {
  readonly nth: number;
  /** Hosts begin to report their actors: to the next leader, or again to the same one. */
  readonly to: "next" | "same";
  readonly ms: number;
  readonly quietly: boolean;
}

/** A fault of the leader after it has received a number of parts of reports. */
function atClaims(name: string, summary: string, hit: Hit): Fault {
  return fault<AtClaims>({
    name,
    summary,
    draw(chance, plan) {
      if (stickyCalls(plan).length === 0) return [];
      const [ms, nth] = [lengths(chance, 10, 30_000), lengths(chance, 1, 8)];
      return times(chance, plan, 3, () => {
        const to = chance.chance(0.7) ? "next" : "same";
        return { nth: nth(), to, ms: ms(), quietly: chance.chance(0.5) };
      });
    },
    happen(stage, planned, strike) {
      const leader = leaderOf(stage);
      if (leader === undefined) return;
      atNthMessage(stage, planned.nth, fromLeader("acknowledged"), (from) =>
        hit(stage, from, { ...planned, targets: [] }, strike),
      );
      if (planned.to === "next") crashAndRestart(stage, leader, false, planned.ms);
      else for (const player of stage.players) breakStreams(stage, player);
    },
  });
}

function breakStreams(stage: Stage, player: Player): boolean {
  const ends = waysToLeader(stage, player)?.ends ?? [];
  for (const end of ends) breakBoth(stage, end);
  return ends.length > 0;
}

export const leaderDiesInClaims = atClaims(
  "leader dies in claims",
  "the leader ends when hosts have reported a part of their sticky actors",
  dies,
);
export const leaderHangsInClaims = atClaims(
  "leader hangs in claims",
  "the leader hangs when hosts have reported a part of their sticky actors",
  hangs,
);

export const claimsCutShort = fault<{ host: string; again: number; ms: number }>({
  name: "claims cut short",
  summary: "the stream of a host breaks, perhaps several times, before the leader has the end of its report",
  draw(chance, plan) {
    const { sticky = {}, hosts } = plan;
    const holders = hosts.filter(({ types }) => types.some((type) => sticky[type] !== undefined));
    const names = hostNames({ ...plan, hosts: holders });
    if (names.length === 0) return [];
    const ms = lengths(chance, 1, 5_000);
    return times(chance, plan, 4, () => ({ host: chance.pick(names), again: chance.below(4), ms: ms() }));
  },
  happen(stage, { host, again, ms }, strike) {
    const player = stage.player(host);
    const { place } = player.host;
    let claims = 0;
    const isLast = (sent: VirtualControlMessage, _to: number, from: number): boolean => {
      if (from !== place) return false;
      if (fromHost("hello")(sent)) claims = 0;
      if (fromHost("claims")(sent)) claims++;
      return claims > 0 && fromHost("claimed")(sent);
    };
    const cut = (left: number): void =>
      atNthMessage(stage, 1, isLast, (_host, leader) => {
        const ways = waysToLeader(stage, player);
        if (ways?.leader !== leader || !isWorking(leader)) return;
        strike(host, { left, ms });
        // The last message is late, and then the stream breaks.
        for (const end of ways.ends) end.arrival = Math.max(end.arrival, stage.now + ms + LATER_MS);
        stage.later(ms, () => {
          for (const end of ways.ends) breakBoth(stage, end);
        });
        claims = 0;
        if (left > 0) cut(left - 1);
      });
    if (breakStreams(stage, player)) cut(again);
  },
});

// ——— Releases.

interface Release {
  /** Host of the operator's request. */
  readonly from: string;
  /** Hosts that call the actor at the same moment. */
  readonly callers: readonly string[];
  /** Number of releases, one after another. */
  readonly count: number;
}

const drawRelease =
  (callers: number) =>
  (...[chance, plan]: Parameters<Fault["draw"]>): (Release & { readonly at: number })[] => {
    const calls = stickyCalls(plan);
    if (calls.length === 0) return [];
    return times(chance, plan, 4, () => ({
      from: chance.pick(calls).from,
      callers: Array.from({ length: chance.below(callers) }, () => chance.pick(calls).from),
      count: 1 + chance.below(3),
    }));
  };

async function release(stage: Stage, planned: Release & { readonly at: number }, strike: Strike): Promise<void> {
  const { from, callers, count, at } = planned;
  const player = stage.player(from);
  if (!isWorking(player)) return;
  const host = player.host.app.host;
  const chance = stage.chance.child(`release ${at}`);
  try {
    const { actors } = await host.sticky({ limit: 1_000 });
    for (const [i, { type, id }] of chance.shuffle(actors).slice(0, count).entries()) {
      // After healing begins, the operator makes no further request.
      if (!stage.isChaos) return;
      strike(from, { actor: `${type}/${id}`, callers: callers.length });
      const done = host.release(type, id);
      for (const [j, caller] of callers.entries()) {
        const call = { at: stage.now, from: caller, type, id, method: "append", how: {}, timeoutMs: 5_000 };
        void makeCall(stage, call, `release-${stage.operations.length}-${i}-${j}`);
      }
      await done;
    }
  } catch {
    // There is no leader, or no host holds the actor any more. The operator gets an error and may retry.
  }
}

export const releasedByOperator = fault<Release>({
  name: "released by an operator",
  summary: "an operator has hosts let go of sticky actors that they hold",
  draw: drawRelease(1),
  happen: (stage, planned, strike) => void release(stage, planned, strike),
});

export const releasedAndCalled = fault<Release>({
  name: "released and called",
  summary: "an operator has hosts let go of sticky actors that are called from several hosts in the same moment",
  draw: drawRelease(5),
  happen: (stage, planned, strike) => void release(stage, planned, strike),
});

export const leaveStorm = fault<{ calls: (PlannedCall & { readonly afterMs: number })[] }>({
  name: "leave storm",
  summary: "many callers request sticky actors to deactivate, again and again, and call them meanwhile",
  draw(chance, plan) {
    const all = stickyCalls(plan);
    if (all.length === 0) return [];
    const spreadMs = lengths(chance, 1, 3_000);
    return times(chance, plan, 2, () => {
      const targets = [chance.pick(all), chance.pick(all)];
      const spread = spreadMs();
      const calls = Array.from({ length: 4 + chance.below(24) }, () => {
        const { type, id } = chance.pick(targets);
        const { from } = chance.pick(all);
        const how = chance.chance(0.6) ? { leaves: true } : {};
        const afterMs = Math.floor(chance.between(0, spread));
        return { at: 0, afterMs, from, type, id, method: "append", how, timeoutMs: chance.pick([1_000, 5_000]) };
      });
      return { calls };
    });
  },
  happen(stage, { calls, at }, strike) {
    strike("", { calls: calls.length });
    for (const [i, { afterMs, ...call }] of calls.entries()) {
      stage.later(afterMs, () => void makeCall(stage, { ...call, at: stage.now }, `leave-${at}-${i}`));
    }
  },
});
