// Shards after the chaos: every called shard has a present home, no shard moves for ever, and the
// distribution follows the strategy.
import { isLimpetError } from "../../src/kernel/errors.ts";
import type { ShardHomeRow } from "../../src/ports/store/shards.ts";
import { makeCall } from "../callers.ts";
import { isHostOf, shardKey, upHosts } from "../checkers/looks.ts";
import type { Operation } from "../observer.ts";
import { RESTARTS_DOUBLED } from "../plan.ts";
import { shardIn } from "../shard-extractors.ts";
import type { Player, Stage } from "../stage.ts";

type Until = (ms: number, isDone?: () => boolean) => Promise<void>;

const LOOK_MS = 200;
/** Longer than any request to the leader takes. */
const ASK_MS = 15_000;
/** Duration of a hand-off in calm times. No turns of the chaos are left to wait for. */
const MOVE_MS = 500;

export async function demandShards(stage: Stage, until: Until): Promise<void> {
  const { sharded } = stage.plan;
  if (sharded === undefined) return;
  // In the worst case one shard moves in each round.
  const rounds = Math.max(...Object.values(sharded).map(({ shards, rebalance }) => shards * (rebalance + MOVE_MS)));
  const deadline = stage.now + stage.boundMs + rounds;
  /** Longer than the time until the strategy decides again and its decision is carried out. */
  const restMs = Math.max(...Object.values(sharded).map(({ rebalance }) => rebalance)) * 2 + MOVE_MS;
  let since = stage.now;
  let before = "";
  let problem = "nobody was asked";
  for (let looks = 0; stage.now < deadline && (problem !== "" || stage.now - since < restMs); looks++) {
    let isOver = false;
    let rows: ShardHomeRow[] = [];
    let homeless: Operation | undefined;
    void look(stage).then((seen) => {
      ({ problem, rows, homeless } = seen);
      isOver = true;
    });
    await until(stage.now + ASK_MS, () => isOver);
    // The shard lost its home after the last call. The next call allocates another one.
    if (homeless !== undefined)
      void makeCall(stage, { ...homeless.call, at: stage.now, how: {}, timeoutMs: ASK_MS }, `homeless-${looks}`);
    const now = JSON.stringify(rows);
    if (now !== before) since = stage.now;
    before = now;
    await until(stage.now + LOOK_MS);
  }
  if (problem !== "") stage.violation("shards at rest", problem);
  else if (stage.now - since < restMs) stage.violation("shards at rest", "shards go on moving, and nothing is wrong");
  else await replaceInPeace(stage, until);
}

// ——— Moves in peace.

/** Share of the seeds with sharded types in which a host is replaced while its shards are called. */
const REPLACED = 0.6;
const CALLS = 240;
const EVERY_MS = 4;
const ACTORS = 6;
const PATIENCE_MS = 10_000;

/**
 * Timeout of callers in calm times. A shard has no home while the custom strategy decides, which happens when
 * the host leaves and when it returns. Calls that were buffered meanwhile run one after the other, each with
 * a commit.
 */
function patienceOf({ plan: { sharded, latency } }: Stage, type: string): number {
  const { strategy } = sharded![type]!;
  const thinksMs = typeof strategy === "object" ? strategy.thinksMs : 0;
  const commitMs = 2 * (latency.leastMs + latency.moreMs);
  return Math.ceil(PATIENCE_MS + 2 * thinksMs + (CALLS / ACTORS) * commitMs);
}

/**
 * An operator replaces a host while its actors are called. No call fails, and the calls of one caller keep
 * their order.
 */
async function replaceInPeace(stage: Stage, until: Until): Promise<void> {
  const chance = stage.chance.child("replaced in peace");
  const [type] = Object.keys(stage.plan.sharded!);
  const homes = stage.players.filter((player) => isHostOf(stage.plan, player, type!));
  if (!chance.chance(REPLACED) || homes.length === 0) return;
  const leaver = chance.pick(homes);
  const isNear = ({ planned }: Player): boolean =>
    planned.namespace === leaver.planned.namespace && !planned.dedicated && planned !== leaver.planned;
  const callers = stage.players.filter(isNear);
  if (!homes.some(isNear)) return;
  const timeoutMs = patienceOf(stage, type!);
  const made: Promise<Operation | undefined>[] = [];
  let isBack = false;
  for (let i = 0; i < CALLS; i++) {
    if (i === CALLS / 4) {
      void stage.stop(leaver).then(() => {
        stage.start(leaver);
        isBack = true;
      });
    }
    const call = { at: stage.now, from: chance.pick(callers).host.name, type: type!, id: `peace-${i % ACTORS}` };
    made.push(makeCall(stage, { ...call, method: "append", how: {}, timeoutMs }, `peace-${i}`));
    await until(stage.now + EVERY_MS);
  }
  let answers: (Operation | undefined)[] | undefined;
  void Promise.all(made).then((all) => {
    answers = all;
  });
  const isReady = (): boolean => leaver.host.isUp && leaver.host.app.host.status().ready;
  await until(stage.now + timeoutMs * 2 + stage.boundMs, () => answers !== undefined && isBack && isReady());
  if (answers === undefined) stage.violation("moves lose nothing", "a call has no answer after a host was replaced");
  else inOrder(stage, answers);
  stage.reach("shard: replaced in calm times");
}

/**
 * The calls of one host to one actor have increasing positions in the ledger, in the order in which the host
 * made them.
 */
function inOrder(stage: Stage, operations: readonly (Operation | undefined)[]): void {
  const last = new Map<string, { readonly place: number; readonly token: string }>();
  for (const operation of operations) {
    if (operation?.outcome === undefined) continue;
    const { token, call, outcome } = operation;
    const what = `${token} on ${call.type}/${call.id}`;
    // A host at its capacity rejects calls, whether or not a shard moves.
    if (
      "error" in outcome &&
      (isLimpetError(outcome.error, "MAILBOX_FULL") || isLimpetError(outcome.error, "HOST_FULL"))
    )
      continue;
    if ("error" in outcome) {
      stage.violation("moves lose nothing", `${what} failed while a host was replaced: ${outcome.error}`);
      return;
    }
    const key = `${call.from} ${call.id}`;
    const [place, before] = [outcome.value as number, last.get(key)];
    if (before !== undefined && place <= before.place) {
      stage.violation("in order", `${what} has place ${place}, and ${before.token}, made before, ${before.place}`);
      return;
    }
    last.set(key, { place, token });
  }
}

// ——— Remembered actors.

/**
 * Every host checks at this interval which shards have remembered actors, so a missed notification delays a
 * start by no more.
 */
const REMEMBERED_MS = 35_000;

/**
 * Every remembered actor runs without a call. This check therefore precedes all calls of the healing phase.
 */
export async function demandRemembered(stage: Stage, until: Until): Promise<void> {
  const rules = Object.values(stage.plan.sharded ?? {}).filter(({ remember }) => remember);
  // A host under the fault "memory pressure" keeps its small capacity and cannot hold all remembered actors.
  if (rules.length === 0 || stage.faults.has("memory pressure")) return;
  const longestWaitMs = Math.max(...rules.map(({ restartAfter = 0 }) => restartAfter)) * RESTARTS_DOUBLED;
  const deadline = stage.now + stage.boundMs + REMEMBERED_MS + longestWaitMs * 2;
  let problem = "nobody was asked";
  while (stage.now < deadline && problem !== "") {
    let isOver = false;
    void unstarted(stage).then((found) => {
      problem = found;
      isOver = true;
    });
    await until(stage.now + ASK_MS, () => isOver);
    if (problem !== "") await until(stage.now + LOOK_MS);
  }
  if (problem !== "") stage.violation("remembered actors run", problem);
}

async function unstarted(stage: Stage): Promise<string> {
  for (const [type, { remember, shards }] of Object.entries(stage.plan.sharded ?? {})) {
    if (!remember) continue;
    for (const namespace of new Set(stage.players.map(({ planned }) => planned.namespace))) {
      const hosts = [...upHosts(stage)].filter((host) => host.namespace === namespace).map(({ host }) => host);
      const isHome = (player: Player): boolean =>
        isHostOf(stage.plan, player, type) && player.planned.namespace === namespace;
      if (!stage.players.some(isHome)) continue;
      const pages = await Promise.all(hosts.map((host) => host.list({ active: true, type, limit: 1_000 })));
      const active = new Set(pages.flatMap(({ actors }) => actors.map(({ id }) => id)));
      const ids = await rememberedIds(stage, namespace, type, shards);
      const missing = ids.find((id) => !active.has(id));
      if (missing !== undefined) return `${type}/${missing} is remembered in ${namespace} and does not run`;
      const lost = neverForgotten(stage, namespace, type).find((id) => !ids.includes(id));
      if (lost !== undefined) return `${type}/${lost} in ${namespace} was called and is not remembered`;
    }
  }
  return "";
}

async function rememberedIds(stage: Stage, namespace: string, type: string, shards: number): Promise<string[]> {
  const { truth } = stage.world.database;
  const all = Array.from({ length: shards }, (_, shard) =>
    truth.shards.remembered({ namespace, type, shard }, undefined, 1_000),
  );
  return (await Promise.all(all)).flat();
}

/** Actors that have answered a call and were never asked to passivate. */
function neverForgotten(stage: Stage, namespace: string, type: string): string[] {
  const own = stage.operations.filter((operation) => operation.namespace === namespace && operation.call.type === type);
  const forgotten = new Set(own.filter(({ call }) => call.how.passivates).map(({ call }) => call.id));
  const answered = own.filter(({ outcome }) => outcome !== undefined && "value" in outcome);
  return [...new Set(answered.map(({ call }) => call.id))].filter((id) => !forgotten.has(id));
}

// ——— State of the store and of the leader.

interface Look {
  readonly problem: string;
  readonly rows: ShardHomeRow[];
  /** A call to an actor of a shard that has no home, or whose home has ended. */
  readonly homeless?: Operation;
}

async function look(stage: Stage): Promise<Look> {
  const rows = await stage.world.database.truth.shards.homes();
  const known = new Map(rows.map((row) => [shardKey(row.namespace, row.type, row.shard), row.incarnation]));
  const homes = await hostsOf(stage);
  for (const operation of stage.operations) {
    const { namespace, call } = operation;
    const rule = stage.plan.sharded?.[call.type];
    const there = homes.get(`${namespace}/${call.type}`) ?? [];
    if (rule === undefined || there.length === 0) continue;
    const key = shardKey(namespace, call.type, shardIn(rule, call.id));
    const home = known.get(key);
    if (home === undefined) return { problem: `${key} has no home`, rows, homeless: operation };
    // A leader that never met this home keeps the row until a call requests the shard.
    if (!there.includes(home))
      return { problem: `${key} lives at ${home}, which is not there`, rows, homeless: operation };
  }
  const unsettled = await led(stage);
  if (unsettled !== "") return { problem: unsettled, rows };
  // While builds differ the leader does not rebalance: it would move shards to a host that is about to be
  // replaced.
  const builds = new Set(Object.values(stage.plan.workflows?.workers ?? {}).map(({ build }) => build));
  if (builds.size > 0 && [...builds].some((build) => build !== "")) return { problem: "", rows };
  for (const [where, there] of homes) {
    const [namespace, type] = where.split("/");
    if (stage.plan.sharded?.[type!]?.strategy !== "least") continue;
    const counts = there.map((incarnation) => {
      return rows.filter((row) => row.incarnation === incarnation && row.type === type && row.namespace === namespace)
        .length;
    });
    if (Math.max(...counts) - Math.min(...counts) > 1)
      return { problem: `${where} is out of balance: ${counts}`, rows };
  }
  return { problem: "", rows };
}

/** The leader has no move in progress, and every shard with an assignment is at its assigned host. */
async function led(stage: Stage): Promise<string> {
  const hosts = new Map([...upHosts(stage)].map(({ namespace, host }) => [namespace, host]));
  for (const [namespace, host] of hosts) {
    for (const type of Object.keys(stage.plan.sharded ?? {})) {
      const isHome = (player: Player): boolean =>
        isHostOf(stage.plan, player, type) && player.planned.namespace === namespace;
      if (!stage.players.some(isHome)) continue;
      try {
        const { moving, hosts, told, strategy } = await host.shards(type);
        const [move] = moving;
        if (move !== undefined)
          return `shard ${move.shard} of ${type} moves, ${move.phase}, and waits for ${move.waitsFor}`;
        for (const { shard, host } of strategy === "external" ? told : []) {
          const wanted = hosts.find(({ name, address }) => name === host || address === host);
          const home = hosts.find(({ shards }) => shards.includes(shard));
          if (wanted !== undefined && home !== undefined && home !== wanted)
            return `shard ${shard} of ${type} lives at ${home.name}, and is assigned to ${host}`;
        }
      } catch (error) {
        return String(error);
      }
    }
  }
  return "";
}

/** Incarnations of the hosts by namespace and type. */
async function hostsOf(stage: Stage): Promise<Map<string, string[]>> {
  const members = await stage.world.database.truth.coordination.members();
  const hosts = new Map<string, string[]>();
  for (const type of Object.keys(stage.plan.sharded ?? {})) {
    for (const { namespace, incarnation, types } of members) {
      if (!types.includes(type)) continue;
      const where = `${namespace}/${type}`;
      hosts.set(where, [...(hosts.get(where) ?? []), incarnation]);
    }
  }
  return hosts;
}
