// Encodes the messages about sticky actors as protobuf, and decodes them. Decoding checks every field. These
// messages are numerous after a change of leaders and when many actors activate, so each id is checked only
// once.
import { create } from "@bufbuild/protobuf";
import { invariant } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import type { LostRule } from "../../../ports/control-messages.ts";
import {
  type HostMessage,
  type SchedulerMessage,
  STICKY_REFUSALS,
  type StickyAnswer,
  type StickyRefusal,
  type StickyRequest,
  type StickyRules,
} from "../../../ports/control-messages.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import {
  cutReason,
  readActorId,
  readTime,
  readWhole,
  readWord,
  refuseMessage,
  writeTime,
  writeWhole,
} from "./checks.ts";
import { readTableHost, writeTableHost } from "./order-codec.ts";

// ——— Rules.

export function writeRule(lost: LostRule): proto.StickyRule {
  return create(proto.StickyRuleSchema, {
    lost: lost === "never" ? { case: "never", value: true } : { case: "afterMs", value: writeWhole(lost, "a delay") },
  });
}

export function readRule(rule: proto.StickyRule | undefined): LostRule {
  if (rule?.lost.case === "afterMs") return readWhole(rule.lost.value, "a delay");
  if (rule?.lost.case === "never" && rule.lost.value) return "never";
  return refuseMessage("a sticky type has no rule for lost hosts");
}

export function writeRules(rules: StickyRules | undefined): Record<string, proto.StickyRule> {
  return Object.fromEntries([...(rules ?? [])].map(([type, lost]) => [type, writeRule(lost)]));
}

/** Returns a part of the enclosing message: empty when there are no rules. */
export function readRules(rules: Record<string, proto.StickyRule>): { readonly sticky?: StickyRules } {
  const entries = Object.entries(rules);
  if (entries.length === 0) return {};
  const most = LIMITS.typesPerHost;
  if (entries.length > most)
    refuseMessage(`${entries.length} sticky types are more than the limit of ${most} per host`);
  return { sticky: new Map(entries.map(([type, rule]) => [readWord(type, "actor type"), readRule(rule)])) };
}

// ——— Lists.

/** Checks the limit of items in one message. */
function fewEnough<T>(list: readonly T[]): T[] {
  const { length } = list;
  invariant(length <= LIMITS.stickyChunk, `a message carries ${LIMITS.stickyChunk} sticky actors, not ${length}`);
  return list as T[];
}

function readCount(count: number): void {
  const most = LIMITS.stickyChunk;
  if (count > most) refuseMessage(`${count} sticky actors are more than the limit of ${most} per message`);
}

interface Some {
  readonly type: string;
  readonly ids: readonly string[];
}

const writeSome = ({ type, ids }: Some) => ({ actorType: type, actorIds: fewEnough(ids) });

function readSome({ actorType, actorIds }: { readonly actorType: string; readonly actorIds: readonly string[] }): Some {
  readCount(actorIds.length);
  for (const id of actorIds) readActorId(id);
  return { type: readWord(actorType, "actor type"), ids: actorIds };
}

const KEYLESS = "a sticky actor has no key";

export function writeActorKey({ type, id }: { readonly type: string; readonly id: string }): proto.StickyActorKey {
  return create(proto.StickyActorKeySchema, { actorType: type, actorId: id });
}

export function readActorKey(key: proto.StickyActorKey | undefined): { readonly type: string; readonly id: string } {
  if (key === undefined) return refuseMessage(KEYLESS);
  return { type: readWord(key.actorType, "actor type"), id: readActorId(key.actorId) };
}

// ——— Messages of hosts.

type StickyReport = Extract<HostMessage, { kind: "acquire" | "claims" | "claimed" | "released" }>;
type Report = Extract<
  proto.HostReport["report"],
  { case: "acquireSticky" | "stickyClaims" | "stickyClaimed" | "stickyReleased" }
>;

export function writeStickyReport(message: StickyReport): Report {
  switch (message.kind) {
    case "acquire": {
      const acquisitions = fewEnough(message.requests).map(writeRequest);
      return { case: "acquireSticky", value: create(proto.StickyAcquisitionsSchema, { acquisitions }) };
    }
    case "claims": {
      const part = writeWhole(message.part, "a part");
      const since = message.since.map(writeTime);
      invariant(since.length === message.ids.length, "each id that is claimed comes with its time");
      return { case: "stickyClaims", value: create(proto.StickyClaimsSchema, { part, ...writeSome(message), since }) };
    }
    case "claimed":
      return { case: "stickyClaimed", value: create(proto.StickyClaimedSchema) };
    case "released":
      return { case: "stickyReleased", value: create(proto.StickyReleasedSchema, writeSome(message)) };
  }
}

export function readStickyReport(report: Report): StickyReport {
  switch (report.case) {
    case "acquireSticky": {
      const { acquisitions } = report.value;
      readCount(acquisitions.length);
      return { kind: "acquire", requests: acquisitions.map(readRequest) };
    }
    case "stickyClaims": {
      const { part, actorIds, since } = report.value;
      if (actorIds.length !== since.length) refuseMessage(`${actorIds.length} ids have ${since.length} times`);
      const some = readSome(report.value);
      for (const time of since) readTime(time);
      return { kind: "claims", part: readWhole(part, "a part"), ...some, since };
    }
    case "stickyClaimed":
      return { kind: "claimed" };
    case "stickyReleased":
      return { kind: "released", ...readSome(report.value) };
  }
}

const writeRequest = (request: StickyRequest): proto.StickyAcquisition =>
  create(proto.StickyAcquisitionSchema, {
    correlationId: writeWhole(request.correlation, "a correlation"),
    actorKey: writeActorKey(request),
    since: writeTime(request.since),
  });

function readRequest({ correlationId, actorKey, since }: proto.StickyAcquisition): StickyRequest {
  if (actorKey === undefined) return refuseMessage(KEYLESS);
  return {
    correlation: readWhole(correlationId, "a correlation"),
    type: readWord(actorKey.actorType, "actor type"),
    id: readActorId(actorKey.actorId),
    since: readTime(since),
  };
}

// ——— Messages of the leading scheduler.

type StickyReply = Extract<SchedulerMessage, { kind: "acquired" | "noted" | "granted" | "release" }>;
type Reply = Extract<
  proto.SchedulerReply["reply"],
  { case: "sticky" | "stickyNoted" | "stickyGranted" | "stickyRelease" }
>;

export function writeStickyReply(message: StickyReply): Reply {
  switch (message.kind) {
    case "acquired": {
      const responses = fewEnough(message.answers).map(writeAnswer);
      return { case: "sticky", value: create(proto.StickyAcquisitionResponsesSchema, { responses }) };
    }
    case "noted": {
      const part = writeWhole(message.part, "a part");
      return { case: "stickyNoted", value: create(proto.StickyNotedSchema, { part }) };
    }
    case "granted":
      return { case: "stickyGranted", value: create(proto.StickyGrantedSchema, writeSome(message)) };
    case "release":
      return { case: "stickyRelease", value: create(proto.StickyReleaseSchema, writeSome(message)) };
  }
}

export function readStickyReply(reply: Reply): StickyReply {
  switch (reply.case) {
    case "sticky": {
      const { responses } = reply.value;
      readCount(responses.length);
      return { kind: "acquired", answers: responses.map(readAnswer) };
    }
    case "stickyNoted":
      return { kind: "noted", part: readWhole(reply.value.part, "a part") };
    case "stickyGranted":
      return { kind: "granted", ...readSome(reply.value) };
    case "stickyRelease":
      return { kind: "release", ...readSome(reply.value) };
  }
}

const writeAnswer = (answer: StickyAnswer): proto.StickyAcquisitionResponse =>
  create(proto.StickyAcquisitionResponseSchema, {
    correlationId: writeWhole(answer.correlation, "a correlation"),
    result: writeResult(answer),
  });

const GRANTED = { case: "granted", value: true } as const;

function writeResult(answer: StickyAnswer): proto.StickyAcquisitionResponse["result"] {
  switch (answer.kind) {
    case "granted":
      return GRANTED;
    case "owner":
      return { case: "ownerHost", value: writeTableHost(answer.host) };
    case "refused": {
      const { code, why } = answer;
      return { case: "refusal", value: create(proto.StickyRefusalSchema, { code, message: cutReason(why) }) };
    }
  }
}

function readAnswer({ correlationId, result }: proto.StickyAcquisitionResponse): StickyAnswer {
  const correlation = readWhole(correlationId, "a correlation");
  if (result.case === "granted" && result.value) return { correlation, kind: "granted" };
  if (result.case === "ownerHost") return { correlation, kind: "owner", host: readTableHost(result.value) };
  if (result.case !== "refusal") return refuseMessage("an answer about a sticky actor has an unknown kind");
  const { code, message } = result.value;
  return { correlation, kind: "refused", code: readRefusal(code), why: cutReason(message) };
}

const readRefusal = (code: string): StickyRefusal =>
  STICKY_REFUSALS.find((known) => known === code) ??
  refuseMessage("the refusal of a sticky actor has an unknown reason");
