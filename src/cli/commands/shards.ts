// limpet shards [type]

import { shownStore, storeKind } from "../../config/places.ts";
import { resolveSettings } from "../../config/settings.ts";
import { checkType } from "../../kernel/names.ts";
import type { ShardPlace, ShardsSummary, ShardsView } from "../../ports/shard-admin.ts";
import { ask, askJson } from "../ask.ts";
import { type Command, type Context, type FlagValues, textFlag } from "../command.ts";
import { asFailure, asUsage, EXIT, settingsOrUsage, wrongUsage } from "../failure.ts";
import { SETTING_FLAGS } from "../setting-flags.ts";
import { homesText, SHARDED_RECIPE, shardsText, summariesText } from "../shards-text.ts";
import { resolveTarget, TARGET_FLAGS, type Target } from "../target.ts";
import { safe } from "../terminal.ts";

const ACTS = ["move", "allocate", "pause", "resume", "reset", "homes", "moves"] as const;
type Act = (typeof ACTS)[number];

/** Moves that are shown without being asked for. */
const HISTORY = 10;

export const command: Command = {
  name: "shards",
  summary: "Show where the shards of a type live and how they move; move them, or have them stay",
  about:
    "Without a type: all types whose actors live in shards, a line each. With one: how many shards and actors each host has,\n" +
    "which shards are on their way, and which moved last, why, and how long it took.\n" +
    "Any process of the cluster may be asked; it asks the scheduler that leads.\n" +
    `Actors live in shards when their class says so: ${SHARDED_RECIPE}`,
  arguments: [{ name: "type", optional: true, help: "Only this actor type, host by host." }],
  flags: [
    { name: "homes", kind: "switch", help: "Every shard that has a home, and how many actors it has." },
    { name: "moves", kind: "switch", help: "All moves that the leader remembers." },
    { name: "move", kind: "list", placeholder: "shard=host", help: "Move one now, to a host by name or address." },
    { name: "pause", kind: "switch", help: "Let none move for the sake of balance until --resume." },
    { name: "resume", kind: "switch", help: "Let them move again." },
    {
      name: "allocate",
      kind: "list",
      placeholder: "shard=host",
      help: 'Where a shard is to live from now on, for strategy "told"; without a host: wherever. May be repeated.',
    },
    {
      name: "reset",
      kind: "switch",
      help: "Forget how its ids become shards, and what is remembered of it. Every host of the type has to be stopped.",
    },
    ...TARGET_FLAGS,
  ],
  settings: SETTING_FLAGS.filter(({ name }) => ["config", "store", "namespace"].includes(name)),
  examples: [
    "limpet shards",
    "limpet shards Cart",
    "limpet shards Cart --homes --json",
    "limpet shards Cart --move 7=10.0.0.2:7401",
    "limpet shards Cart --pause",
    "limpet shards Feed --allocate 7=reader-b --allocate 8=",
    "limpet shards Cart --reset --store postgres://db.internal/shop",
  ],
  async run(context) {
    const { args, flags } = context;
    const [type] = args;
    const act = readAct(flags);
    if (type === undefined) {
      if (act !== undefined) throw wrongUsage(`--${act} is about one type: limpet shards Cart --${act}`);
      await showTypes(context, resolveTarget(context));
      return EXIT.ok;
    }
    asUsage(() => checkType(type));
    if (act === "reset") await reset(context, type);
    else await atProcess(context, resolveTarget(context), type, act);
    return EXIT.ok;
  },
};

function readAct(flags: FlagValues): Act | undefined {
  const [act, another] = ACTS.filter((name) => flags[name] !== undefined && flags[name] !== false);
  if (another !== undefined) throw wrongUsage(`--${act} and --${another} are two things to do; give one of them`);
  return act;
}

async function atProcess(context: Context, target: Target, type: string, act: Act | undefined): Promise<void> {
  const { flags } = context;
  switch (act) {
    case "move": {
      const [given, another] = flags.move as readonly string[];
      if (another !== undefined) throw wrongUsage("--move moves one shard; give the command once for each");
      const { shard, host } = readPlace(given!, "--move");
      if (host === undefined) throw wrongUsage("--move needs a host: limpet shards Cart --move 7=10.0.0.2:7401");
      await steer(context, target, "move", { type, shard, host });
      say(context, { moving: { type, shard, host } }, `Shard ${shard} of ${type} moves to ${host}.`);
      break;
    }
    case "allocate": {
      const told = readPlaces(flags.allocate as readonly string[]);
      await steer(context, target, "allocate", { type, places: told });
      say(context, { type, told }, `Noted; those of ${type} that live elsewhere move in a moment.`);
      break;
    }
    case "pause":
    case "resume":
      await steer(context, target, act, { type });
      say(
        context,
        { type, paused: act === "pause" },
        act === "pause"
          ? `Shards of ${type} stay where they are; those of hosts that leave do not. To go on: --resume`
          : `Shards of ${type} move again when that makes for balance.`,
      );
      break;
    default:
      await show(context, target, type, act);
  }
}

function readPlace(text: string, flag: string): ShardPlace {
  const [, shard, host] = /^(\d{1,6})=(.*)$/.exec(text) ?? [];
  if (shard === undefined) throw wrongUsage(`${flag}: ${JSON.stringify(text)} is not a shard and a host, like 7=alpha`);
  return { shard: Number(shard), host: host || undefined };
}

/** By shard; null: wherever. */
function readPlaces(given: readonly string[]): Record<string, string | null> {
  const told = new Map<number, string | null>();
  for (const { shard, host } of given.map((text) => readPlace(text, "--allocate"))) {
    if (told.has(shard)) throw wrongUsage(`--allocate says two things of shard ${shard}`);
    told.set(shard, host ?? null);
  }
  return Object.fromEntries(told);
}

async function steer(_: Context, target: Target, act: string, body: object): Promise<void> {
  await ask(target, { verb: "POST", path: `/v1.0/control/shards/${act}`, body: JSON.stringify(body) });
}

function say({ terminal, json }: Context, object: object, sentence: string): void {
  if (json) terminal.json(object);
  else terminal.line(safe(sentence));
}

async function showTypes({ terminal, json }: Context, target: Target): Promise<void> {
  const answer = await askJson<{ types: readonly ShardsSummary[] }>(target, {
    verb: "GET",
    path: "/v1.0/inspect/shards",
  });
  if (json) terminal.json(answer);
  else if (answer.types.length > 0) terminal.line(summariesText(answer.types, terminal.paint));
  else
    terminal.errLine(
      `No type that is hosted has its actors live in shards. To make one so, its class says: ${SHARDED_RECIPE}`,
    );
}

async function show({ terminal, json }: Context, target: Target, type: string, act: Act | undefined): Promise<void> {
  const path = `/v1.0/inspect/shards/${encodeURIComponent(type)}`;
  const view = await askJson<ShardsView>(target, { verb: "GET", path });
  if (json) terminal.json(view);
  else if (act === "homes") terminal.line(homesText(view, terminal.paint) || `No shard of ${safe(type)} is in use.`);
  else
    terminal.line(shardsText(view, Date.now(), act === "moves" ? Number.POSITIVE_INFINITY : HISTORY, terminal.paint));
}

/** No process of the type may run, so nobody is asked: it is done in the store. */
async function reset(context: Context, type: string): Promise<void> {
  const { flags, env, cwd } = context;
  const { store: location, namespace } = settingsOrUsage(() =>
    resolveSettings({
      file: textFlag(flags, "config"),
      env,
      cwd,
      flags: { store: flags.store, namespace: flags.namespace },
    }),
  );
  if (storeKind(location) === "memory") throw wrongUsage("--reset is about what is kept, and this store is in memory");
  const [{ openStore }, { resetShards }, { hasEnded }] = await Promise.all([
    import("../../host/open-store.ts"),
    import("../../sharding/operations/reset-shards.ts"),
    import("../../placement/discovery/process-identity.ts"),
  ]);
  try {
    const store = await openStore(location);
    try {
      await resetShards(store, namespace, type, hasEnded);
    } finally {
      await store.close();
    }
  } catch (error) {
    throw asFailure(error);
  }
  // Where, because a store that has never heard of the type has nothing to say against it.
  const where = `${shownStore(location)}, namespace ${namespace}`;
  const forgotten = `How ids of ${type} become shards is forgotten in ${where}; its next host settles it anew.`;
  say(context, { reset: type, store: shownStore(location), namespace }, forgotten);
}
