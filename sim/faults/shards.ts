// Faults of shards: in every phase of allocation and hand-off, a participant dies, hangs, or misses a
// message. Each of these faults has hosts leave and return, so that shards move.
import type { Prng } from "../../src/kernel/prng.ts";
import type { ShardSteering } from "../../src/ports/shard-admin.ts";
import type { Said } from "../../src/world/network/virtual-control.ts";
import { KIND } from "../../src/world/timeline.ts";
import { makeCall } from "../callers.ts";
import { hasRole } from "../checkers/looks.ts";
import type { Plan, PlannedCall, PlannedHost } from "../plan.ts";
import { shardIn } from "../shard-extractors.ts";
import type { Player, Stage, TrapEvent } from "../stage.ts";
import { type AtWork, asks, dies, done, type Hit, hangs } from "./at-work.ts";
import { type Fault, fault, hostNames, lengths, type Strike, some, times } from "./fault.ts";
import { atMoment, isWorking, stopAndRestart } from "./network/players.ts";
import { breakBoth, waysToLeader } from "./network/streams.ts";
import { atWord, hostSays, leaderSays, whoHears, whoSays } from "./network/words.ts";

export type Target = Pick<PlannedCall, "from" | "type" | "id">;

interface AtShard extends AtWork {
  /** Actors that are called, so that their shards are requested. */
  readonly targets: readonly Target[];
  /** Leaves and returns, so that shards move. */
  readonly leaver: string;
  readonly leaveMs: number;
}

const CALL_MS = 10_000;
const BACK_MS = 100;
const LATER_MS = 10;

/** Hosts that can be homes, and the types of their shards. */
export function homesOf(plan: Plan): { readonly names: readonly string[]; readonly types: readonly string[] } {
  const { hosts, sharded = {} } = plan;
  const isHome = (host: PlannedHost, type: string): boolean => host.types.includes(type) && hasRole(plan, host, type);
  const homes = hosts.filter((host) => Object.keys(sharded).some((type) => isHome(host, type)));
  const types = Object.keys(sharded).filter((type) => homes.some((host) => isHome(host, type)));
  return { names: hostNames({ ...plan, hosts: homes }), types };
}

export const callersOf = (plan: Plan): string[] =>
  hostNames({ ...plan, hosts: plan.hosts.filter(({ dedicated }) => !dedicated) });

export function drawTargets(chance: Prng, plan: Plan, most: number): Target[] {
  const { types } = homesOf(plan);
  const callers = callersOf(plan);
  return Array.from({ length: 1 + chance.below(most) }, () => {
    return { from: chance.pick(callers), type: chance.pick(types), id: `box-${chance.below(100)}` };
  });
}

export function callShards(
  stage: Stage,
  targets: readonly Target[],
  name: string,
  how: PlannedCall["how"] = {},
  ms = CALL_MS,
): void {
  for (const [i, target] of targets.entries()) {
    const planned = { ...target, at: stage.now, method: "append", how, timeoutMs: ms };
    void makeCall(stage, planned, `${name.replaceAll(" ", "-")}-${i}`);
  }
}

/** A fault at the event that `arm` waits for. */
function atShard(
  name: string,
  says: string,
  arm: (stage: Stage, planned: AtShard, spring: (player: Player) => void) => void,
  hit: Hit,
  isThere: (plan: Plan) => boolean = () => true,
): Fault {
  return fault<AtShard>({
    name,
    says,
    draw(chance, plan) {
      const { names, types } = homesOf(plan);
      if (types.length === 0 || names.length === 0 || callersOf(plan).length === 0 || !isThere(plan)) return [];
      const [ms, nth, leaveMs] = [lengths(chance, 10, 30_000), lengths(chance, 1, 6), lengths(chance, 1, 2_000)];
      return times(chance, plan, 3, () => ({
        nth: nth(),
        ms: ms(),
        quietly: chance.chance(0.5),
        targets: drawTargets(chance, plan, 6),
        leaver: chance.pick(names),
        leaveMs: leaveMs(),
      }));
    },
    happen(stage, planned, strike) {
      const { targets, leaver, leaveMs, at } = planned;
      arm(stage, planned, (player) => hit(stage, player, planned, strike));
      callShards(stage, targets, `${name}-${at}`);
      stage.later(leaveMs, () => stopAndRestart(stage, stage.player(leaver), BACK_MS));
    },
  });
}

const whenSaid =
  (isIt: (said: Said, to: number) => boolean, whom: (from: Player, to: Player) => Player) =>
  (stage: Stage, { nth }: AtShard, spring: (player: Player) => void): void =>
    atWord(stage, nth, isIt, (from, to) => spring(whom(from, to)));

const whenAsked =
  (isIt: (event: TrapEvent) => boolean) =>
  (stage: Stage, { nth }: AtShard, spring: (player: Player) => void): void =>
    atMoment(stage, nth, isIt, spring);

/** The host gets the message that it is the home itself. */
const isOwnHome =
  (stage: Stage) =>
  (said: Said, to: number): boolean => {
    if (said.about !== "scheduler" || said.message.kind !== "shardHomes") return false;
    const address = stage.players.find(({ host }) => host.place === to)?.host.process?.app?.host.status().address;
    return said.message.homes.some(({ host }) => host !== undefined && host.address === address);
  };

/** The home in the store, when its hand-off begins. */
function whenGathering(stage: Stage, { nth }: AtShard, spring: (player: Player) => void): void {
  atWord(stage, nth, leaderSays("beginHandOff"), async (_from, _to, said) => {
    if (said.about !== "scheduler" || said.message.kind !== "beginHandOff") return;
    const { type, shard } = said.message;
    const { shards, coordination } = stage.world.database.truth;
    const [rows, members] = await Promise.all([shards.homes(), coordination.members()]);
    const homes = rows.filter((row) => row.type === type && row.shard === shard);
    const addresses = members.filter(({ incarnation }) => homes.some((row) => row.incarnation === incarnation));
    const isHome = ({ host }: Player): boolean =>
      addresses.some(({ address }) => host.process?.app?.host.status().address === address);
    const home = stage.players.find((player) => isWorking(player) && isHome(player));
    if (home !== undefined && stage.isChaos) spring(home);
  });
}

/** The last message on its stream is late, and then the stream breaks. */
const unheard: Hit = (stage, player, { nth, ms }, strike) => {
  const ways = waysToLeader(stage, player);
  if (ways === undefined || ways.ends.length === 0) return;
  const lateMs = Math.min(ms, 3_000);
  strike(player.host.name, { nth, ms: lateMs });
  for (const end of ways.ends.flatMap((one) => [one, one.peer])) {
    if (end !== undefined) end.arrival = Math.max(end.arrival, stage.now + lateMs + LATER_MS);
  }
  stage.later(lateMs, () => {
    for (const end of ways.ends) breakBoth(stage, end);
  });
};

// ——— Allocation.

const asked = whenSaid(hostSays("getShardHomes"), whoHears);
export const leaderDiesAtAsk = atShard(
  "leader dies at ask",
  "the leader ends when it gets a request for the home of a shard",
  asked,
  dies,
);
export const leaderHangsAtAsk = atShard(
  "leader hangs at ask",
  "the leader hangs when it gets a request for the home of a shard",
  asked,
  hangs,
);
export const askerDies = atShard(
  "asker dies",
  "a host ends when it has requested the home of a shard",
  whenSaid(hostSays("getShardHomes"), whoSays),
  dies,
);
export const leaderDiesBeforeNote = atShard(
  "leader dies before a home is noted",
  "the leader ends when it has chosen homes, before it stores them",
  whenAsked(asks("note homes")),
  dies,
);
export const leaderHangsBeforeNote = atShard(
  "leader hangs before a home is noted",
  "the leader hangs when it has chosen homes, before it stores them",
  whenAsked(asks("note homes")),
  hangs,
);
export const leaderDiesAfterNote = atShard(
  "leader dies with a home noted",
  "the leader ends when homes are stored, before it notifies any host",
  whenAsked(done("note homes")),
  dies,
);
export const leaderHangsAfterNote = atShard(
  "leader hangs with a home noted",
  "the leader hangs when homes are stored, before it notifies any host",
  whenAsked(done("note homes")),
  hangs,
);
const told = (stage: Stage, planned: AtShard, spring: (player: Player) => void): void =>
  atWord(stage, planned.nth, isOwnHome(stage), (_from, to) => spring(to));
export const newHomeDies = atShard(
  "new home dies",
  "a host ends when it learns that it is the home of a shard, before its first call",
  told,
  dies,
);
export const newHomeHangs = atShard(
  "new home hangs",
  "a host hangs when it learns that it is the home of a shard, before its first call",
  told,
  hangs,
);
export const homeUnheard = atShard(
  "home unheard",
  "the announcement of a home is lost, because the stream of the host breaks",
  whenSaid(leaderSays("shardHomes"), whoHears),
  unheard,
);

// ——— Buffering of calls.

const kept = whenSaid(hostSays("beginHandOffAck"), whoHears);
export const leaderDiesAtGather = atShard(
  "leader dies while calls are kept back",
  "the leader ends when some hosts have acknowledged that they buffer calls for a shard",
  kept,
  dies,
);
export const leaderHangsAtGather = atShard(
  "leader hangs while calls are kept back",
  "the leader hangs when some hosts have acknowledged that they buffer calls for a shard",
  kept,
  hangs,
);
export const homeDiesAtGather = atShard(
  "home dies while calls are kept back",
  "the home of a shard ends when all hosts are ordered to buffer calls for it",
  whenGathering,
  dies,
);
export const homeHangsAtGather = atShard(
  "home hangs while calls are kept back",
  "the home of a shard hangs when all hosts are ordered to buffer calls for it",
  whenGathering,
  hangs,
);
export const gatherUnheard = atShard(
  "gathering unheard",
  "the order to buffer calls is lost, because the stream of the host breaks",
  whenSaid(leaderSays("beginHandOff"), whoHears),
  unheard,
);
export const askerDiesAtGather = atShard(
  "host dies while calls are kept back",
  "a host ends when it is ordered to buffer calls for a shard",
  whenSaid(leaderSays("beginHandOff"), whoHears),
  dies,
);
export const askerHangsAtGather = atShard(
  "host hangs while calls are kept back",
  "a host hangs when it is ordered to buffer calls for a shard",
  whenSaid(leaderSays("beginHandOff"), whoHears),
  hangs,
);

// ——— Hand-off.

const stops = whenSaid(leaderSays("handOff"), whoHears);
const stopped = whenSaid(hostSays("shardStopped"), whoSays);
export const homeDiesAtStop = atShard(
  "home dies at stop",
  "the home of a shard ends when it is ordered to hand it off",
  stops,
  dies,
);
export const homeHangsAtStop = atShard(
  "home hangs at stop",
  "the home of a shard hangs when it is ordered to hand it off",
  stops,
  hangs,
);
export const stopUnheard = atShard(
  "stop unheard",
  "the order to hand off a shard is lost, because the stream of its home breaks",
  stops,
  unheard,
);
export const leaderDiesAtStop = atShard(
  "leader dies at stop",
  "the leader ends when it has ordered the home of a shard to hand it off",
  whenSaid(leaderSays("handOff"), whoSays),
  dies,
);
export const leaderHangsAtStop = atShard(
  "leader hangs at stop",
  "the leader hangs when it has ordered the home of a shard to hand it off",
  whenSaid(leaderSays("handOff"), whoSays),
  hangs,
);
export const homeDiesStopped = atShard(
  "home dies with a shard stopped",
  "the home of a shard ends when it has stopped the shard, before any other process knows it",
  stopped,
  dies,
);
export const homeHangsStopped = atShard(
  "home hangs with a shard stopped",
  "the home of a shard hangs when it has just reported that the shard is stopped",
  stopped,
  hangs,
);
export const stoppedUnheard = atShard(
  "stopped unheard",
  "the report that a shard is stopped is lost, because the stream breaks",
  stopped,
  unheard,
);
export const leaderDiesAtStopped = atShard(
  "leader dies with a shard stopped",
  "the leader ends when it gets the report that a shard is stopped",
  whenSaid(hostSays("shardStopped"), whoHears),
  dies,
);

export const leaderHangsAtStopped = atShard(
  "leader hangs with a shard stopped",
  "the leader hangs when it gets the report that a shard is stopped",
  whenSaid(hostSays("shardStopped"), whoHears),
  hangs,
);

/**
 * The next home: when the previous one gets the order to hand off, or when that has completed and the next
 * home prefetches actors.
 */
const nextHome =
  (isLate: boolean) =>
  (stage: Stage, { nth }: AtShard, spring: (player: Player) => void): void => {
    const next = new Map<string, string>();
    const isIt = (said: Said): boolean => {
      if (said.about === "scheduler" && said.message.kind === "handOff") {
        const { type, shard, to } = said.message;
        if (to !== undefined) next.set(`${type} ${shard}`, to.address);
        return !isLate && to !== undefined;
      }
      if (!isLate || said.about !== "host" || said.message.kind !== "shardStopped") return false;
      return next.has(`${said.message.type} ${said.message.shard}`);
    };
    atWord(stage, nth, isIt, (_from, _to, said) => {
      const { type, shard } = (said as { message: { type: string; shard: number } }).message;
      const address = next.get(`${type} ${shard}`);
      const home = stage.players.find(({ host }) => host.process?.app?.host.status().address === address);
      if (home !== undefined && isWorking(home)) spring(home);
    });
  };
export const nextHomeDiesAtStop = atShard(
  "next home dies at stop",
  "the next home of a shard ends when the previous one is ordered to hand it off",
  nextHome(false),
  dies,
);
export const nextHomeHangsAtStop = atShard(
  "next home hangs at stop",
  "the next home of a shard hangs when the previous one is ordered to hand it off",
  nextHome(false),
  hangs,
);
export const nextHomeDiesAtStopped = atShard(
  "next home dies with a shard stopped",
  "the next home of a shard ends when the previous one has stopped the shard, before the new home is stored",
  nextHome(true),
  dies,
);
export const nextHomeHangsAtStopped = atShard(
  "next home hangs with a shard stopped",
  "the next home of a shard hangs when the previous one has stopped the shard, before the new home is stored",
  nextHome(true),
  hangs,
);

export const endlessTurn = fault<{ targets: Target[]; leaver: string; leaveMs: number; ms: number }>({
  name: "turn without end",
  says: "turns of sharded actors take longer than the hand-off timeout, and their hosts are stopped",
  draw(chance, plan) {
    const { names, types } = homesOf(plan);
    if (types.length === 0 || names.length === 0 || callersOf(plan).length === 0) return [];
    const [ms, leaveMs] = [lengths(chance, 500, 30_000), lengths(chance, 1, 2_000)];
    return times(chance, plan, 3, () => {
      return { targets: drawTargets(chance, plan, 8), leaver: chance.pick(names), leaveMs: leaveMs(), ms: ms() };
    });
  },
  happen(stage, { targets, leaver, leaveMs, ms, at }, strike) {
    strike("", { calls: targets.length, ms });
    callShards(stage, targets, `turn-without-end-${at}`, { slowMs: ms }, ms + CALL_MS);
    stage.later(leaveMs, () => stopAndRestart(stage, stage.player(leaver), BACK_MS));
  },
});

export const changePlaces = fault<{ leavers: string[]; rounds: number; ms: number; quietly: boolean }>({
  name: "hosts change places",
  says: "some hosts of shards leave in the moment in which others come, again and again",
  draw(chance, plan) {
    const { names, types } = homesOf(plan);
    if (types.length === 0 || names.length < 2) return [];
    const ms = lengths(chance, 10, 5_000);
    return times(chance, plan, 2, () => {
      return { leavers: some(chance, names), rounds: 1 + chance.below(5), ms: ms(), quietly: chance.chance(0.3) };
    });
  },
  happen(stage, { leavers, rounds, ms, quietly }, strike) {
    const change = (left: number): void => {
      const here = stage.players.filter(({ planned }) => leavers.includes(planned.name));
      swap(stage, here, left, quietly, strike);
      if (left > 1) stage.later(ms, () => change(left - 1));
    };
    change(rounds);
  },
});

/**
 * Present hosts leave, and absent ones return. The first time every other host leaves, so that some can
 * return the next time.
 */
function swap(stage: Stage, players: readonly Player[], left: number, quietly: boolean, strike: Strike): void {
  const leaving = players.filter((player, i) => isWorking(player) && (i + left) % 2 === 0);
  if (leaving.length > 0) strike("", { leavers: leaving.map(({ host }) => host.name).join(), left });
  for (const player of players) if (!leaving.includes(player)) stage.start(player);
  for (const player of leaving) {
    if (quietly) stage.crash(player, true);
    else stopAndRestart(stage, player, 60_000);
  }
}

/** Calls of many hosts to the actors of one shard, some of them slow, while its home leaves. */
export const busyShard = fault<{ targets: Target[]; leaver: string; spreadMs: number }>({
  name: "busy shard",
  says: "the actors of one shard are called by many, without a pause, while a host leaves and comes back",
  draw(chance, plan) {
    const { names, types } = homesOf(plan);
    if (types.length === 0 || names.length === 0 || callersOf(plan).length === 0) return [];
    const spreadMs = lengths(chance, 5, 3_000);
    return times(chance, plan, 2, () => {
      const type = chance.pick(types);
      const rule = plan.sharded![type]!;
      const drawn = chance.below(rule.shards);
      const all = Array.from({ length: 400 }, (_, i) => `box-${i}`);
      // With a custom `shardOf`, some shards have no actors.
      const shard = all.some((id) => shardIn(rule, id) === drawn) ? drawn : shardIn(rule, all[0]!);
      const ids = all.filter((id) => shardIn(rule, id) === shard);
      const from = callersOf(plan);
      const targets = Array.from({ length: 10 + chance.below(40) }, () => {
        return { from: chance.pick(from), type, id: chance.pick(ids.slice(0, 4)) };
      });
      return { targets, leaver: chance.pick(names), spreadMs: spreadMs() };
    });
  },
  happen(stage, { targets, leaver, spreadMs, at }, strike) {
    strike("", { calls: targets.length, spreadMs });
    for (const [i, target] of targets.entries()) {
      const how = i % 7 === 3 ? { slowMs: 40 } : {};
      stage.later((spreadMs * i) / targets.length, () => callShards(stage, [target], `busy-${at}-${i}`, how));
    }
    stage.later(spreadMs / 2, () => stopAndRestart(stage, stage.player(leaver), BACK_MS));
  },
});

// ——— Remembered actors.

const remembers = ({ sharded = {} }: Plan): boolean => Object.values(sharded).some(({ remember }) => remember);
export const homeDiesBeforeRemembering = atShard(
  "home dies before it remembers",
  "a host ends when it is about to have written that an actor is remembered, or is not any more",
  whenAsked(asks("remember")),
  dies,
  remembers,
);
export const homeDiesRemembering = atShard(
  "home dies when it remembers",
  "a host ends when it was written that an actor is remembered, or is not any more, and it does not know",
  whenAsked(done("remember")),
  dies,
  remembers,
);
export const homeHangsRecalling = atShard(
  "home hangs when it recalls",
  "a host hangs when it reads which actors of a shard are remembered",
  whenAsked(asks("recall")),
  hangs,
  remembers,
);

// ——— Operators.

interface Steering {
  readonly from: string;
  readonly type: string;
  readonly places: readonly { readonly shard: number; readonly host: string }[];
}

function drawSteering(chance: Prng, plan: Plan, types: readonly string[]): Steering {
  const type = chance.pick(types);
  const { names } = homesOf(plan);
  const places = Array.from({ length: 1 + chance.below(5) }, () => {
    return { shard: chance.below(plan.sharded![type]!.shards), host: chance.pick(names) };
  });
  return { from: chance.pick(callersOf(plan)), type, places };
}

/** An operator gets an error when the request fails, and may retry it. */
export async function steer(stage: Stage, from: string, type: string, how: ShardSteering): Promise<boolean> {
  const player = stage.player(from);
  if (!isWorking(player)) return false;
  return player.host.app.host.steerShards(type, how).then(
    () => true,
    () => false,
  );
}

export const movedByHand = fault<Steering>({
  name: "shards moved by hand",
  says: "an operator moves some shards to other hosts, all at once",
  draw(chance, plan) {
    const { names, types } = homesOf(plan);
    if (types.length === 0 || names.length === 0 || callersOf(plan).length === 0) return [];
    return times(chance, plan, 5, () => drawSteering(chance, plan, types));
  },
  happen(stage, { from, type, places }, strike) {
    if (!isWorking(stage.player(from))) return;
    strike(from, { type, shards: places.map(({ shard }) => shard).join() });
    for (const { shard, host } of places) void steer(stage, from, type, { kind: "move", shard, host });
  },
});

export const toldElsewhere = fault<Steering>({
  name: "shards told elsewhere",
  says: "an application assigns some shards to other hosts",
  draw(chance, plan) {
    const { names, types } = homesOf(plan);
    const told = types.filter((type) => plan.sharded![type]!.strategy === "external");
    if (told.length === 0 || names.length === 0 || callersOf(plan).length === 0) return [];
    return times(chance, plan, 5, () => drawSteering(chance, plan, told));
  },
  happen(stage, { from, type, places }, strike) {
    if (!isWorking(stage.player(from))) return;
    strike(from, { type, shards: places.map(({ shard }) => shard).join() });
    void steer(stage, from, type, { kind: "allocate", places });
  },
});

export const balancePaused = fault<{ from: string; type: string; ms: number }>({
  name: "balancing paused",
  says: "an operator pauses rebalancing for a while, although hosts come and go",
  draw(chance, plan) {
    const { types } = homesOf(plan);
    if (types.length === 0 || callersOf(plan).length === 0) return [];
    const ms = lengths(chance, 500, 20_000);
    return times(chance, plan, 2, () => ({ from: chance.pick(callersOf(plan)), type: chance.pick(types), ms: ms() }));
  },
  happen(stage, { from, type, ms }, strike) {
    if (!isWorking(stage.player(from))) return;
    strike(from, { type, ms });
    void steer(stage, from, type, { kind: "pause", paused: true });
    // Also after healing: no other process would resume it.
    const goOn = async (): Promise<void> => {
      if (await steer(stage, from, type, { kind: "pause", paused: false })) return;
      stage.world.timeline.plan(stage.now + BACK_MS, KIND.script, undefined, () => void goOn());
    };
    stage.undoAfter(ms, () => void goOn());
  },
});
