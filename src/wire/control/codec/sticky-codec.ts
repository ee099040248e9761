// The messages about sticky actors as protobuf. Decoding checks every field. These messages are numerous
// after a change of leaders and when many actors activate, so each id is checked only once.
import { create } from "@bufbuild/protobuf";
import { invariant } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import {
  type HostMessage,
  type LostRule,
  type SchedulerMessage,
  STICKY_REFUSALS,
  type StickyAnswer,
  type StickyRequest,
} from "../../../ports/control-messages.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { type Cases, type Codec, message, only, type Part, union } from "./codec.ts";
import { TABLE_HOST } from "./order-codec.ts";
import {
  ACTOR_ID,
  listOf,
  oneWordOf,
  REASON,
  refuseMessage,
  required,
  TIME,
  TYPE,
  wholeNumber,
} from "./value-codecs.ts";

const DELAY = wholeNumber("a delay");

/** A rule must be present, also where protobuf has an optional message. */
export const LOST_RULE = {
  write(lost: LostRule): proto.StickyRule {
    const rule = create(proto.StickyRuleSchema);
    rule.lost = lost === "never" ? { case: "never", value: true } : { case: "afterMs", value: DELAY.write(lost) };
    return rule;
  },
  read(rule: proto.StickyRule | undefined): LostRule {
    if (rule?.lost.case === "afterMs") return DELAY.read(rule.lost.value);
    if (rule?.lost.case === "never" && rule.lost.value) return "never";
    return refuseMessage("a sticky type has no rule for lost hosts");
  },
};

export const ACTOR_KEY: Codec<{ readonly type: string; readonly id: string }, proto.StickyActorKey> = message(
  proto.StickyActorKeySchema,
  { type: ["actorType", TYPE], id: ["actorId", ACTOR_ID] },
);

export const REQUIRED_KEY = required(ACTOR_KEY, "a sticky actor has no key");

/** A list within the limit of one message. */
const some = <T, W>(codec: Codec<T, W>) => listOf(codec, LIMITS.stickyChunk, "sticky actors", " per message");

const ACTORS = { type: ["actorType", TYPE], ids: ["actorIds", some(ACTOR_ID)] } as const;

// ——— Messages of hosts.

const TIMES = listOf(TIME);

/** One time for each id. */
const SINCE: Part<readonly number[], proto.StickyClaims> = {
  put(claims, since) {
    invariant(since.length === claims.actorIds.length, "each id that is claimed comes with its time");
    claims.since = TIMES.write(since);
  },
  take({ actorIds, since }) {
    if (actorIds.length !== since.length) refuseMessage(`${actorIds.length} ids have ${since.length} times`);
    return TIMES.read(since);
  },
};

const REQUEST: Codec<StickyRequest, proto.StickyAcquisition> = message(
  proto.StickyAcquisitionSchema,
  { correlation: ["correlationId", wholeNumber("a correlation")], since: TIME },
  ["actorKey", REQUIRED_KEY],
);

type StickyReport = Extract<HostMessage, { kind: "acquire" | "claims" | "claimed" | "released" }>;

export const STICKY_REPORTS: Cases<StickyReport, proto.HostReport["report"]> = {
  acquire: ["acquireSticky", message(proto.StickyAcquisitionsSchema, { requests: ["acquisitions", some(REQUEST)] })],
  claims: ["stickyClaims", message(proto.StickyClaimsSchema, { part: wholeNumber("a part"), ...ACTORS, since: SINCE })],
  claimed: ["stickyClaimed", message(proto.StickyClaimedSchema, {})],
  released: ["stickyReleased", message(proto.StickyReleasedSchema, ACTORS)],
};

// ——— Messages of the leading scheduler.

type ResultOf<A> = A extends StickyAnswer ? Omit<A, "correlation"> : never;

const NO_KIND = "an answer about a sticky actor has an unknown kind";

const RESULT = union<ResultOf<StickyAnswer>, proto.StickyAcquisitionResponse["result"]>(
  {
    granted: ["granted", { write: () => true, read: (value: boolean) => (value ? {} : refuseMessage(NO_KIND)) }],
    owner: ["ownerHost", only("host", TABLE_HOST)],
    refused: [
      "refusal",
      message(proto.StickyRefusalSchema, {
        code: oneWordOf(STICKY_REFUSALS, () => "the refusal of a sticky actor has an unknown reason"),
        why: ["message", REASON],
      }),
    ],
  },
  NO_KIND,
);

const ANSWER: Codec<StickyAnswer, proto.StickyAcquisitionResponse> = message(
  proto.StickyAcquisitionResponseSchema,
  { correlation: ["correlationId", wholeNumber("a correlation")] },
  ["result", RESULT],
);

type StickyReply = Extract<SchedulerMessage, { kind: "acquired" | "acknowledged" | "granted" | "release" }>;

export const STICKY_REPLIES: Cases<StickyReply, proto.SchedulerReply["reply"]> = {
  acquired: ["sticky", message(proto.StickyAcquisitionResponsesSchema, { answers: ["responses", some(ANSWER)] })],
  acknowledged: ["stickyNoted", message(proto.StickyNotedSchema, { part: wholeNumber("a part") })],
  granted: ["stickyGranted", message(proto.StickyGrantedSchema, ACTORS)],
  release: ["stickyRelease", message(proto.StickyReleaseSchema, ACTORS)],
};
