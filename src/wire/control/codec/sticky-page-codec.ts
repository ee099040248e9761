// Encodes operator requests about sticky actors as protobuf, and decodes them. Decoding checks every field.
import { create } from "@bufbuild/protobuf";
import { invariant } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import type { StickyActor, StickyPage, StickyQuery } from "../../../ports/host-admin.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import {
  readActorId,
  readAddress,
  readText,
  readTime,
  readWhole,
  readWord,
  refuseMessage,
  writeTime,
  writeWhole,
} from "./checks.ts";
import { readActorKey, writeActorKey } from "./sticky-codec.ts";

export function writeStickyQuery(namespace: string, query: StickyQuery): proto.ListStickyRequest {
  const { type, id, prefix, after, limit } = query;
  return create(proto.ListStickyRequestSchema, {
    namespace,
    ...(type === undefined ? {} : { actorType: type }),
    ...(id === undefined ? {} : { actorId: id }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(after === undefined ? {} : { after: writeActorKey(after) }),
    limit: writeWhole(limit, "the limit of a page"),
  });
}

/** A request for more rows than a page holds gets a full page and the start of the next one. */
export function readStickyQuery(request: proto.ListStickyRequest): {
  readonly namespace: string;
  readonly query: StickyQuery;
} {
  const { namespace, actorType, actorId, prefix, after } = request;
  const limit = readWhole(request.limit, "the limit of a page");
  if (limit === 0) refuseMessage("the limit of a page must be at least 1");
  if (actorId !== undefined && actorType === undefined)
    refuseMessage("a request for one sticky actor must name its type");
  return {
    namespace: readWord(namespace, "namespace"),
    query: {
      type: actorType === undefined ? undefined : readWord(actorType, "actor type"),
      id: actorId === undefined ? undefined : readActorId(actorId),
      prefix: prefix === undefined ? undefined : readText(prefix, "the beginning of an actor id"),
      after: after && readActorKey(after),
      limit: Math.min(limit, LIMITS.listPage),
    },
  };
}

export function writeStickyPage({ actors, next }: StickyPage): proto.ListStickyResponse {
  invariant(actors.length <= LIMITS.listPage, `a page holds ${LIMITS.listPage} rows, not ${actors.length}`);
  return create(proto.ListStickyResponseSchema, {
    actors: actors.map(writeActor),
    ...(next === undefined ? {} : { next: writeActorKey(next) }),
  });
}

export function readStickyPage({ actors, next }: proto.ListStickyResponse): StickyPage {
  const most = LIMITS.listPage;
  if (actors.length > most) refuseMessage(`${actors.length} rows are more than the limit of ${most} per page`);
  return { actors: actors.map(readActor), next: next && readActorKey(next) };
}

const writeActor = (actor: StickyActor): proto.StickyActor =>
  create(proto.StickyActorSchema, {
    actorKey: writeActorKey(actor),
    address: actor.address,
    name: actor.name,
    since: writeTime(actor.since),
    away: actor.away,
  });

const readActor = ({ actorKey, address, name, since, away }: proto.StickyActor): StickyActor => ({
  ...readActorKey(actorKey),
  address: readAddress(address, "the address of a host"),
  name: readText(name, "the name of a host"),
  since: readTime(since),
  away,
});
