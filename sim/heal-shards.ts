// After the chaos: every shard whose actors were called has a home that is there, none moves for ever, and shards are spread as their
// strategy says.
import { shardOf } from "../src/kernel/shards.ts";
import type { ShardHomeRow } from "../src/ports/shards.ts";
import { makeCall } from "./callers.ts";
import { shardKey } from "./checkers/looks.ts";
import type { Operation } from "./observer.ts";
import type { Player, Stage } from "./stage.ts";

type Until = (ms: number, isDone?: () => boolean) => Promise<void>;

const LOOK_MS = 200;
/** A hand-over in calm times, but for the turns that it waits for: those of the chaos are over. */
const MOVE_MS = 500;

export async function demandShards(stage: Stage, until: Until): Promise<void> {
  const { sharded } = stage.plan;
  if (sharded === undefined) return;
  // In the worst case one shard moves in each round.
  const rounds = Math.max(...Object.values(sharded).map(({ shards, rebalance }) => shards * (rebalance + MOVE_MS)));
  const deadline = stage.now + stage.boundMs + rounds;
  /** Longer than it takes until the strategy is asked again, and what it says is done. */
  const restMs = Math.max(...Object.values(sharded).map(({ rebalance }) => rebalance)) * 2 + MOVE_MS;
  let since = stage.now;
  let before = "";
  let problem = "nobody was asked";
  while (stage.now < deadline && (problem !== "" || stage.now - since < restMs)) {
    let isOver = false;
    let rows: ShardHomeRow[] = [];
    void look(stage).then((seen) => {
      ({ problem, rows } = seen);
      isOver = true;
    });
    await until(stage.now + 1_000, () => isOver);
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

/** Of the seeds with sharded types, how many have a host replaced while its shards are called. */
const REPLACED = 0.6;
const CALLS = 240;
const EVERY_MS = 4;
const ACTORS = 6;
const PATIENCE_MS = 10_000;

/** An operator replaces a host while its actors are called: no call fails, and those of one caller come in their order. */
async function replaceInPeace(stage: Stage, until: Until): Promise<void> {
  const chance = stage.chance.child("replaced in peace");
  const [type] = Object.keys(stage.plan.sharded!);
  const homes = stage.players.filter(({ types }) => types.includes(type!));
  if (!chance.chance(REPLACED) || homes.length === 0) return;
  const leaver = chance.pick(homes);
  const isNear = ({ planned }: Player): boolean =>
    planned.namespace === leaver.planned.namespace && !planned.dedicated && planned !== leaver.planned;
  const callers = stage.players.filter(isNear);
  if (!homes.some(isNear)) return;
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
    made.push(makeCall(stage, { ...call, method: "append", how: {}, timeoutMs: PATIENCE_MS }, `peace-${i}`));
    await until(stage.now + EVERY_MS);
  }
  let answers: (Operation | undefined)[] | undefined;
  void Promise.all(made).then((all) => {
    answers = all;
  });
  const isReady = (): boolean => leaver.host.isUp && leaver.host.app.host.status().ready;
  await until(stage.now + PATIENCE_MS * 2 + stage.boundMs, () => answers !== undefined && isBack && isReady());
  if (answers === undefined) stage.violation("moves lose nothing", "a call has no answer after a host was replaced");
  else inOrder(stage, answers);
  stage.mark("shard: replaced in peace");
}

/** Each has its place behind those that the same host made before to the same actor. */
function inOrder(stage: Stage, operations: readonly (Operation | undefined)[]): void {
  const last = new Map<string, { readonly place: number; readonly token: string }>();
  for (const operation of operations) {
    if (operation?.outcome === undefined) continue;
    const { token, call, outcome } = operation;
    const what = `${token} on ${call.type}/${call.id}`;
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

async function look(stage: Stage): Promise<{ readonly problem: string; readonly rows: ShardHomeRow[] }> {
  const rows = await stage.world.database.truth.shards.homes();
  const known = new Map(rows.map((row) => [shardKey(row.namespace, row.type, row.shard), row.incarnation]));
  const homes = await hostsOf(stage);
  for (const { namespace, call } of stage.operations) {
    const rule = stage.plan.sharded?.[call.type];
    const there = homes.get(`${namespace}/${call.type}`) ?? [];
    if (rule === undefined || there.length === 0) continue;
    const key = shardKey(namespace, call.type, shardOf(call.id, rule.shards));
    const home = known.get(key);
    if (home === undefined) return { problem: `${key} has no home`, rows };
    if (!there.includes(home)) return { problem: `${key} lives at ${home}, which is not there`, rows };
  }
  // While builds differ nothing is evened out: who is about to be replaced would be filled for nothing.
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

/** By namespace and type: incarnations of its hosts. */
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
