// Answers the leader's requests about shards: the decisions of the application's strategy, and numbers of
// actors. The strategy is code of the application. If it fails, the host answers with the problem; if it
// hangs, the leader times out.

import { thrownText } from "../../kernel/check.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { meantHost, type ShardHostInfo, type ShardMoveWish, type ShardStrategy } from "../../kernel/shard-strategy.ts";
import type { ActorTypeInfo } from "../../ports/actor-host.ts";
import type { ShardChoice, ShardOrder, ShardReport } from "../../ports/control-messages.ts";

type StrategyQuestion = Extract<ShardOrder, { kind: "askStrategy" }>;
type StrategyAnswer = Extract<ShardReport, { kind: "strategyAnswer" }>;

export async function answerStrategyRequest(
  question: StrategyQuestion,
  strategy: ShardStrategy | undefined,
): Promise<StrategyAnswer> {
  const { type, question: number, wanted } = question;
  const choices: ShardChoice[] = [];
  let problem: string | undefined;
  try {
    if (strategy === undefined) problem = "this host has no strategy of its own for the type";
    else if (wanted.length === 0) choices.push(...(await moves(question, strategy)));
    else await homes(question, strategy, choices);
  } catch (error) {
    problem = thrownText(error);
  }
  return { kind: "strategyAnswer", question: number, type, choices, problem };
}

/** One after the other, each as if the earlier ones already lived at their chosen homes. */
async function homes(
  { regions, wanted }: StrategyQuestion,
  strategy: ShardStrategy,
  choices: ShardChoice[],
): Promise<void> {
  const hosts = regions.map((region) => ({ ...region, shards: [...region.shards] }));
  for (const { shard, asker } of wanted) {
    const answer: unknown = await strategy.home(
      shard,
      hosts,
      hosts.find(({ incarnation }) => incarnation === asker),
    );
    const host = meantHost(answer, hosts);
    choices.push({ shard, incarnation: host?.incarnation });
    host?.shards.push(shard);
  }
}

/** Leaves out invalid moves: with an absent host, or an unknown shard. */
async function moves({ regions, moving }: StrategyQuestion, strategy: ShardStrategy): Promise<ShardChoice[]> {
  const hosts: readonly ShardHostInfo[] = regions;
  const answer: unknown = await strategy.moves?.(hosts, new Set(moving));
  if (answer === undefined || answer === null) return [];
  if (!Array.isArray(answer))
    throw new LimpetError("ARGUMENT_INVALID", `moves must return a list; got ${typeof answer}`);
  const known = new Set(hosts.flatMap(({ shards }) => shards));
  const choices = new Map<number, ShardChoice>();
  for (const move of answer as readonly (ShardMoveWish | undefined)[]) {
    const { shard, to } = move ?? {};
    if (shard === undefined || !known.has(shard)) continue;
    const incarnation = to === undefined ? undefined : meantHost(to, hosts)?.incarnation;
    if (to === undefined || incarnation !== undefined) choices.set(shard, { shard, incarnation });
  }
  return [...choices.values()];
}

/** Actors in memory, by shard. */
export function countActors(type: ActorTypeInfo | undefined, held: ReadonlySet<number>): Map<number, number> {
  return new Map([...held].sort((a, b) => a - b).map((shard) => [shard, type?.byShard?.size(shard) ?? 0]));
}
