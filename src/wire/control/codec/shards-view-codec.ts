// Encodes operator requests about shards as protobuf, and decodes them. Decoding checks every field.
import { create } from "@bufbuild/protobuf";
import { MOST_SHARDS } from "../../../kernel/shards.ts";
import {
  MOVE_REASONS,
  type MoveReason,
  type ShardMove,
  type ShardMoved,
  type ShardPlace,
  type ShardSteering,
  type ShardsOfHost,
  type ShardsView,
} from "../../../ports/shard-admin.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { readId, readText, readTime, readWhole, readWord, refuseMessage, writeTime, writeWhole } from "./checks.ts";
import { readRegion, writeRegion } from "./shard-codec.ts";
import { PHASE_OF_WIRE, STRATEGY_OF_WIRE, WIRE_PHASE, WIRE_STRATEGY } from "./shard-words.ts";

function oneOf<T extends string>(word: string, words: readonly T[], what: string): T {
  return words.find((each) => each === word) ?? refuseMessage(`unknown value of ${what}: ${word.slice(0, 50)}`);
}

/** Translates a word of the wire. */
function wordOf<Word extends string, T>(word: string, words: Readonly<Record<Word, T>>, what: string): T {
  return words[oneOf(word, Object.keys(words) as Word[], what)];
}

const readReason = (reason: string): MoveReason => oneOf(reason, MOVE_REASONS, "the reason of a move");
const atMost = <T>(list: readonly T[]): readonly T[] =>
  list.length <= MOST_SHARDS ? list : refuseMessage(`${list.length} shards are more than the limit of ${MOST_SHARDS}`);
const maybe = (host: string | undefined): string | undefined => (host === undefined ? undefined : readHost(host));
const readMs = (ms: number): number =>
  ms >= 0 && Number.isFinite(ms) ? ms : refuseMessage("a duration must be a finite number of milliseconds from 0");
const readHost = (host: string): string => readId(host, "a host");

// ——— Views.

export function writeShardsView(view: ShardsView): proto.DescribeShardsResponse {
  const { shards, strategy, paused, hosts, moving, moved, told, faults } = view;
  return create(proto.DescribeShardsResponseSchema, {
    shards,
    strategy: WIRE_STRATEGY[strategy],
    paused,
    faults: writeWhole(faults, "a number of faults"),
    hosts: hosts.map(writeHost),
    moving: moving.map(({ shard, phase, reason, from, to, forMs, waitsFor }) =>
      create(proto.DescribedMoveSchema, {
        shard,
        phase: WIRE_PHASE[phase],
        reason,
        from,
        ...(to === undefined ? {} : { to }),
        forMs,
        waitsFor: [...waitsFor],
      }),
    ),
    moved: moved.map(({ shard, reason, from, to, tookMs, forced, at }) =>
      create(proto.DescribedMovedSchema, {
        shard,
        reason,
        from,
        ...(to === undefined ? {} : { to }),
        tookMs,
        forced,
        at: writeTime(at),
      }),
    ),
    told: told.map(writePlace),
  });
}

const writeHost = (host: ShardsOfHost): proto.DescribedShardHost =>
  create(proto.DescribedShardHostSchema, {
    region: writeRegion(host),
    leaving: host.leaving,
    actors: [...(host.actors ?? [])],
    silent: host.actors === undefined,
  });

export function readShardsView(type: string, response: proto.DescribeShardsResponse): ShardsView {
  const { shards, strategy, paused, hosts, moving, moved, told, faults } = response;
  return {
    type,
    shards,
    strategy: wordOf(strategy, STRATEGY_OF_WIRE, "the strategy of shards"),
    paused,
    hosts: hosts.map(readShardHost),
    moving: atMost(moving).map(readMove),
    moved: atMost(moved).map(readMoved),
    told: atMost(told).map(readPlace),
    faults: readWhole(faults, "a number of faults"),
  };
}

function readShardHost({ region, leaving, actors, silent }: proto.DescribedShardHost): ShardsOfHost {
  if (region === undefined) return refuseMessage("a list of shards does not name its host");
  const read = readRegion(region);
  if (!silent && actors.length !== read.shards.length)
    refuseMessage("the number of actor counts must equal the number of shards");
  return { ...read, leaving, actors: silent ? undefined : actors };
}

const readMove = ({ shard, phase, reason, from, to, forMs, waitsFor }: proto.DescribedMove): ShardMove => ({
  shard,
  phase: wordOf(phase, PHASE_OF_WIRE, "the phase of a move"),
  reason: readReason(reason),
  from: readHost(from),
  to: maybe(to),
  forMs: readMs(forMs),
  waitsFor: waitsFor.map(readHost),
});

const readMoved = ({ shard, reason, from, to, tookMs, forced, at }: proto.DescribedMoved): ShardMoved => ({
  shard,
  reason: readReason(reason),
  from: readHost(from),
  to: maybe(to),
  tookMs: readMs(tookMs),
  forced,
  at: readTime(at),
});

// ——— Operations.

const writePlace = ({ shard, host }: ShardPlace): proto.ShardPlace =>
  create(proto.ShardPlaceSchema, { shard, ...(host === undefined ? {} : { host }) });

const readPlace = ({ shard, host }: proto.ShardPlace): ShardPlace => {
  return { shard, host: host === undefined ? undefined : readText(host, "the name of a host") };
};

export function writeSteering(namespace: string, type: string, steering: ShardSteering): proto.SteerShardsRequest {
  return create(proto.SteerShardsRequestSchema, { namespace, actorType: type, act: writeAct(steering) });
}

function writeAct(steering: ShardSteering): proto.SteerShardsRequest["act"] {
  switch (steering.kind) {
    case "move":
      return { case: "move", value: writePlace(steering) };
    case "pause":
      return { case: "pause", value: steering.paused };
    case "allocate": {
      const places = atMost(steering.places).map(writePlace);
      return { case: "allocate", value: create(proto.ShardPlacesSchema, { places }) };
    }
  }
}

export function readSteering(request: proto.SteerShardsRequest): {
  readonly namespace: string;
  readonly type: string;
  readonly steering: ShardSteering;
} {
  const { namespace, actorType, act } = request;
  return {
    namespace: readWord(namespace, "namespace"),
    type: readWord(actorType, "actor type"),
    steering: readAct(act),
  };
}

function readAct(act: proto.SteerShardsRequest["act"]): ShardSteering {
  switch (act.case) {
    case "move": {
      const { shard, host } = readPlace(act.value);
      return host === undefined
        ? refuseMessage("a shard move does not name its target host")
        : { kind: "move", shard, host };
    }
    case "pause":
      return { kind: "pause", paused: act.value };
    case "allocate":
      return { kind: "allocate", places: atMost(act.value.places).map(readPlace) };
    default:
      return refuseMessage("a shard request has an unknown kind");
  }
}
