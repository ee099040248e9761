// Operator requests about shards as protobuf. Decoding checks every field. The wire keeps the words of
// release 0.1 for strategies and phases, so operators and leaders of both releases understand each other.
import { MOST_SHARDS } from "../../../kernel/shards.ts";
import {
  MOVE_REASONS,
  type ShardMove,
  type ShardMoved,
  type ShardPlace,
  type ShardSteering,
  type ShardsOfHost,
  type ShardsView,
} from "../../../ports/shard-admin.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { type Codec, message, only, type Part, union } from "./codec.ts";
import { OTHER_LENGTH, perShard, REQUIRED_REGION } from "./shard-codec.ts";
import {
  FLAG,
  HOST_NAME,
  id,
  listOf,
  NAMESPACE,
  NUMBER,
  oneWordOf,
  optional,
  refuseMessage,
  required,
  TIME,
  TYPE,
  wholeNumber,
  wireWords,
} from "./value-codecs.ts";

const unknownWord = (what: string) => (word: string) => `unknown value of ${what}: ${word.slice(0, 50)}`;

const HOST = id("a host");

const REASON_OF_MOVE = oneWordOf(MOVE_REASONS, unknownWord("the reason of a move"));

const MS: Codec<number, number> = {
  write: NUMBER.write,
  read: (ms) =>
    ms >= 0 && Number.isFinite(ms) ? ms : refuseMessage("a duration must be a finite number of milliseconds from 0"),
};

// ——— Views.

/** `silent`: the host did not answer in time. */
const ACTORS: Part<ShardsOfHost["actors"], proto.DescribedShardHost> = {
  put(host, actors) {
    host.actors = [...(actors ?? [])];
    host.silent = actors === undefined;
  },
  take({ region, actors, silent }) {
    if (silent) return undefined;
    return actors.length === region!.shards.length ? actors : refuseMessage(OTHER_LENGTH);
  },
};

const SHARD_HOST: Codec<ShardsOfHost, proto.DescribedShardHost> = message(
  proto.DescribedShardHostSchema,
  { leaving: FLAG, actors: ACTORS },
  ["region", REQUIRED_REGION],
);

const MOVE: Codec<ShardMove, proto.DescribedMove> = message(proto.DescribedMoveSchema, {
  shard: NUMBER,
  phase: wireWords(
    { buffering: "gathering", stopping: "stopping", allocating: "choosing", persisting: "saving" },
    unknownWord("the phase of a move"),
  ),
  reason: REASON_OF_MOVE,
  from: HOST,
  to: optional(HOST),
  forMs: MS,
  waitsFor: listOf(HOST),
});

const MOVED: Codec<ShardMoved, proto.DescribedMoved> = message(proto.DescribedMovedSchema, {
  shard: NUMBER,
  reason: REASON_OF_MOVE,
  from: HOST,
  to: optional(HOST),
  tookMs: MS,
  forced: FLAG,
  at: TIME,
});

const PLACE: Codec<ShardPlace, proto.ShardPlace> = message(proto.ShardPlaceSchema, {
  shard: NUMBER,
  host: optional(HOST_NAME),
});

/** Without the type, which the request names. */
export const SHARDS_VIEW: Codec<Omit<ShardsView, "type">, proto.DescribeShardsResponse> = message(
  proto.DescribeShardsResponseSchema,
  {
    shards: NUMBER,
    strategy: wireWords(
      { least: "least", hashed: "hashed", external: "told", custom: "own" },
      unknownWord("the strategy of shards"),
    ),
    paused: FLAG,
    hosts: listOf(SHARD_HOST),
    moving: perShard(MOVE),
    moved: perShard(MOVED),
    told: perShard(PLACE),
    faults: wholeNumber("a number of faults"),
  },
);

// ——— Operations.

const PLACES = perShard(PLACE);

/** Too many places are an error of the operator, not a bug. */
function writePlaces(places: readonly ShardPlace[]): proto.ShardPlace[] {
  const { length } = places;
  if (length > MOST_SHARDS) refuseMessage(`${length} shards are more than the limit of ${MOST_SHARDS}`);
  return PLACES.write(places);
}

const ACT = union<ShardSteering, proto.SteerShardsRequest["act"]>(
  {
    move: [
      "move",
      message(proto.ShardPlaceSchema, {
        shard: NUMBER,
        host: required(HOST_NAME, "a shard move does not name its target host"),
      }),
    ],
    pause: ["pause", only("paused", FLAG)],
    allocate: ["allocate", message(proto.ShardPlacesSchema, { places: { write: writePlaces, read: PLACES.read } })],
  },
  "a shard request has an unknown kind",
);

export const STEERING: Codec<
  { readonly namespace: string; readonly type: string; readonly steering: ShardSteering },
  proto.SteerShardsRequest
> = message(proto.SteerShardsRequestSchema, {
  namespace: NAMESPACE,
  type: ["actorType", TYPE],
  steering: ["act", ACT],
});
