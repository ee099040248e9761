// Operator requests about sticky actors as protobuf. Decoding checks every field.
import { LIMITS } from "../../../kernel/limits.ts";
import type { StickyActor, StickyPage, StickyQuery } from "../../../ports/host-admin.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { type Codec, message, type Part, part } from "./codec.ts";
import { ACTOR_KEY, REQUIRED_KEY } from "./sticky-codec.ts";
import {
  ACTOR_ID,
  ADDRESS,
  FLAG,
  HOST_NAME,
  listOf,
  NAMESPACE,
  optional,
  plainText,
  refuseMessage,
  TIME,
  TYPE,
  wholeNumber,
} from "./value-codecs.ts";

const ROWS = wholeNumber("the limit of a page");

/** A request for more rows than a page holds gets a full page and the start of the next one. */
const LIMIT: Codec<number, bigint> = {
  write: ROWS.write,
  read(wire) {
    const limit = ROWS.read(wire);
    return limit === 0 ? refuseMessage("the limit of a page must be at least 1") : Math.min(limit, LIMITS.listPage);
  },
};

const OPTIONAL_ID = optional(ACTOR_ID);

const ID_OF_TYPE: Part<string | undefined, proto.ListStickyRequest> = {
  put(request, id) {
    request.actorId = id;
  },
  take({ actorId, actorType }) {
    if (actorId !== undefined && actorType === undefined)
      refuseMessage("a request for one sticky actor must name its type");
    return OPTIONAL_ID.read(actorId);
  },
};

/** Without `here`, which no leader gets. */
const QUERY: Part<Omit<StickyQuery, "here">, proto.ListStickyRequest> = part({
  type: ["actorType", optional(TYPE)],
  id: ID_OF_TYPE,
  prefix: optional(plainText("the beginning of an actor id")),
  after: optional(ACTOR_KEY),
  limit: LIMIT,
});

export const STICKY_QUERY: Codec<{ readonly namespace: string; readonly query: StickyQuery }, proto.ListStickyRequest> =
  message(proto.ListStickyRequestSchema, { namespace: NAMESPACE, query: QUERY });

const ACTOR: Codec<StickyActor, proto.StickyActor> = message(
  proto.StickyActorSchema,
  { address: ADDRESS, name: HOST_NAME, since: TIME, away: FLAG },
  ["actorKey", REQUIRED_KEY],
);

export const STICKY_PAGE: Codec<StickyPage, proto.ListStickyResponse> = message(proto.ListStickyResponseSchema, {
  actors: listOf(ACTOR, LIMITS.listPage, "rows", " per page"),
  next: optional(ACTOR_KEY),
});
