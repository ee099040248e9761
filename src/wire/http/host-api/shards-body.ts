// Parses the bodies of requests that steer the shards of a type. Pure.
import { LimpetError } from "../../../kernel/errors.ts";
import { checkType } from "../../../kernel/names.ts";
import { hostNameProblem, isShardNumber } from "../../../kernel/shards.ts";
import type { AdminRequest } from "../../../ports/admin.ts";
import type { ShardPlace, ShardSteering } from "../../../ports/shard-admin.ts";
import { parseBody } from "../body.ts";

type SteerRequest = Extract<AdminRequest, { kind: "steerShards" }>;

export type ShardAct = "move" | "pause" | "resume" | "allocate";

const SHAPES: Record<ShardAct, string> = {
  move: '{"type": "…", "shard": 7, "host": "…"}, with the address or the name of a host',
  pause: '{"type": "…"}',
  resume: '{"type": "…"}',
  allocate: '{"type": "…", "places": {"7": "…"}}, with a host for each shard, or null for any host',
};

export function parseSteering(act: ShardAct, bytes: Buffer): SteerRequest {
  const asked = parseBody(bytes, false);
  const given = typeof asked === "object" && asked !== null ? (asked as Record<string, unknown>) : {};
  const steering = readSteering(act, given);
  const { type } = given;
  if (typeof type !== "string" || steering === undefined) {
    throw new LimpetError("BODY_INVALID", `the body must be ${SHAPES[act]}`);
  }
  checkType(type);
  return { kind: "steerShards", type, steering };
}

/** An unknown key is rejected, because it could be a request that is not fulfilled. */
function readSteering(act: ShardAct, given: Record<string, unknown>): ShardSteering | undefined {
  const keys = Object.keys(given).length;
  switch (act) {
    case "move": {
      const { shard, host } = given;
      return keys === 3 && isShardNumber(shard) && isHost(host) ? { kind: "move", shard, host } : undefined;
    }
    case "pause":
    case "resume":
      return keys === 1 ? { kind: "pause", paused: act === "pause" } : undefined;
    case "allocate": {
      const places = readPlaces(given.places);
      return keys === 2 && places !== undefined ? { kind: "allocate", places } : undefined;
    }
  }
}

function readPlaces(given: unknown): ShardPlace[] | undefined {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
  const places = Object.entries(given).map(([key, host]) => {
    return { shard: /^\d+$/.test(key) ? Number(key) : undefined, host: host ?? undefined };
  });
  const isFine = places.every(({ shard, host }) => isShardNumber(shard) && (host === undefined || isHost(host)));
  return isFine ? (places as ShardPlace[]) : undefined;
}

const isHost = (value: unknown): value is string => hostNameProblem(value) === undefined;
