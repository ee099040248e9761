// limpet shards [type]

import { shownStore, storeKind } from "../../config/places.ts";
import { resolveSettings } from "../../config/settings.ts";
import { checkType } from "../../kernel/names.ts";
import type { ShardPlace, ShardsSummary } from "../../ports/shard-admin.ts";
import { askAdmin } from "../common/admin.ts";
import { askJson } from "../common/ask.ts";
import { type CliCommand, type Context, type FlagValues, textFlag } from "../common/command.ts";
import { asFailure, asUsage, EXIT, settingsOrUsage, wrongUsage } from "../common/failure.ts";
import { SHARDED_RECIPE } from "../common/phrases.ts";
import { SETTING_FLAGS } from "../common/setting-flags.ts";
import { resolveTarget, TARGET_FLAGS, type Target } from "../common/target.ts";
import { safe } from "../common/terminal.ts";
import { homesText, shardsText, summariesText } from "./shards-text.ts";

const ACTS = ["move", "allocate", "pause", "resume", "reset", "homes", "moves"] as const;
type Act = (typeof ACTS)[number];

/** Number of finished moves in the default view. */
const HISTORY = 10;

export const shardsCommand: CliCommand = {
  name: "shards",
  summary: "Show the homes and moves of shards; move them, or pause rebalancing",
  about:
    "Without a type: all sharded types, a line each. With one: the number of shards and actors of each host,\n" +
    "the moves in progress, and the last moves with their reason and duration.\n" +
    "Any process of the cluster can answer; it requests the leading scheduler.\n" +
    `To shard a type, add to its class: ${SHARDED_RECIPE}`,
  arguments: [{ name: "type", optional: true, help: "Only this actor type, host by host." }],
  flags: [
    { name: "homes", kind: "switch", help: "Every shard with a home, and its number of actors." },
    { name: "moves", kind: "switch", help: "All finished moves that the leader keeps." },
    { name: "move", kind: "list", placeholder: "shard=host", help: "Move one now, to a host by name or address." },
    { name: "pause", kind: "switch", help: "Pause rebalancing until --resume." },
    { name: "resume", kind: "switch", help: "Resume rebalancing." },
    {
      name: "allocate",
      kind: "list",
      placeholder: "shard=host",
      help: 'The home of a shard from now on, for strategy "external"; without a host: any host. May be repeated.',
    },
    {
      name: "reset",
      kind: "switch",
      help: "Delete the shard function and the remembered actors of the type. Stop every host of the type first.",
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
      if (act !== undefined) throw wrongUsage(`--${act} needs a type: limpet shards Cart --${act}`);
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
  if (another !== undefined) throw wrongUsage(`--${act} and --${another} exclude each other; give one of them`);
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
      await askAdmin(target, { kind: "steerShards", type, steering: { kind: "move", shard, host } });
      print(context, { moving: { type, shard, host } }, `Shard ${shard} of ${type} moves to ${host}.`);
      break;
    }
    case "allocate": {
      const places = readPlaces(flags.allocate as readonly string[]);
      await askAdmin(target, { kind: "steerShards", type, steering: { kind: "allocate", places } });
      const told = Object.fromEntries(places.map(({ shard, host }) => [shard, host ?? null]));
      print(context, { type, told }, `Saved; shards of ${type} on other hosts move soon.`);
      break;
    }
    case "pause":
    case "resume":
      await askAdmin(target, { kind: "steerShards", type, steering: { kind: "pause", paused: act === "pause" } });
      print(
        context,
        { type, paused: act === "pause" },
        act === "pause"
          ? `Rebalancing of ${type} is paused; shards of leaving hosts still move. To resume: --resume`
          : `Rebalancing of ${type} is resumed.`,
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

function readPlaces(given: readonly string[]): ShardPlace[] {
  const places = given.map((text) => readPlace(text, "--allocate"));
  const seen = new Set<number>();
  for (const { shard } of places) {
    if (seen.has(shard)) throw wrongUsage(`--allocate names shard ${shard} twice`);
    seen.add(shard);
  }
  return places;
}

function print({ terminal, json }: Context, object: object, sentence: string): void {
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
  else terminal.errLine(`No hosted type is sharded. To shard a type, add to its class: ${SHARDED_RECIPE}`);
}

async function show({ terminal, json }: Context, target: Target, type: string, act: Act | undefined): Promise<void> {
  const view = await askAdmin(target, { kind: "shards", type });
  if (json) terminal.json(view);
  else if (act === "homes") terminal.line(homesText(view, terminal.paint) || `No shard of ${safe(type)} is in use.`);
  else
    terminal.line(shardsText(view, Date.now(), act === "moves" ? Number.POSITIVE_INFINITY : HISTORY, terminal.paint));
}

/** No process of the type may run, so the command works on the store directly. */
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
  if (storeKind(location) === "memory") throw wrongUsage("--reset needs a durable store, and this store is in memory");
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
  // Names the store, because a store that does not know the type accepts the reset too.
  const where = `${shownStore(location)}, namespace ${namespace}`;
  const forgotten = `The shard function of ${type} is deleted in ${where}; its next host sets it again.`;
  print(context, { reset: type, store: shownStore(location), namespace }, forgotten);
}
