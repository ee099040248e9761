import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { isLimpetError, type LimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import type { HostMessage, SchedulerMessage, StickyAnswer, StickyRequest } from "../../../ports/control-messages.ts";
import type { StickyActor } from "../../../ports/host-admin.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { HELLO } from "../control-kit.test.ts";
import { stickyPage, stickyQuery } from "./arbitraries.test.ts";
import { CLUSTER_VIEW } from "./cluster-codec.ts";
import { ReplyReader, readHostMessage, writeHostMessage, writeSchedulerMessage } from "./message-codec.ts";
import { STICKY_PAGE, STICKY_QUERY } from "./sticky-page-codec.ts";

/** Serializes and deserializes, as on the wire. */
const travel = <D extends DescMessage>(schema: D, message: MessageShape<D>): MessageShape<D> =>
  fromBinary(schema, toBinary(schema, message));

const fails = (code: LimpetError["code"], run: () => unknown, about: RegExp, name?: string) =>
  assert.throws(run, (error) => isLimpetError(error, code) && about.test(error.message), name);
const refused = (run: () => unknown, about: RegExp, name?: string) => fails("PROTOCOL", run, about, name);

type Report = NonNullable<MessageInitShape<typeof proto.HostReportSchema>["report"]>;
type Reply = NonNullable<MessageInitShape<typeof proto.SchedulerReplySchema>["reply"]>;

const read = (report: Report) => readHostMessage(create(proto.HostReportSchema, { report }));
const obey = (reply: Reply) => new ReplyReader().read(create(proto.SchedulerReplySchema, { reply }));

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
/** An id of the greatest length. */
const longId = (i: number): string => String(i).padStart(LIMITS.idBytes, "x");
const FULL = many(LIMITS.stickyChunk, longId);
const TOO_MANY = many(LIMITS.stickyChunk + 1, (i) => `${i}`);

const HOST = { address: "10.0.0.1:7400", incarnation: "i-1", name: "web" };
const BAD_IDS: Record<string, RegExp> = {
  "": /^actor id must not be empty/,
  "..": /^actor id must not be "\.\."/,
  "a/b": /^actor id must not contain/,
  "a\nb": /^actor id must not contain/,
  ["i".repeat(LIMITS.idBytes + 1)]: /^actor id must be at most 512 bytes/,
};
const BAD_TIMES = [Number.NaN, Number.POSITIVE_INFINITY, 0.5, -1, 2 ** 53];

describe("codec of requests about sticky actors", () => {
  it("requests about sticky actors and their answers are decoded as they were encoded", () => {
    fc.assert(
      fc.property(fc.constantFrom("default", "__proto__", "ä b"), stickyQuery, (namespace, query) => {
        const request = travel(proto.ListStickyRequestSchema, STICKY_QUERY.write({ namespace, query }));
        assert.deepEqual(STICKY_QUERY.read(request), { namespace, query });
      }),
    );
    fc.assert(
      fc.property(stickyPage, (page) => {
        const response = travel(proto.ListStickyResponseSchema, STICKY_PAGE.write(page));
        assert.deepEqual(STICKY_PAGE.read(response), page);
      }),
    );
  });

  it("a request for more than one page asks for a full page", () => {
    const { query } = STICKY_QUERY.read(
      STICKY_QUERY.write({ namespace: "default", query: { limit: LIMITS.listPage + 1 } }),
    );
    assert.equal(query.limit, LIMITS.listPage);
  });

  it("an invalid request about sticky actors is rejected", () => {
    const ask = (change: MessageInitShape<typeof proto.ListStickyRequestSchema>) => () =>
      STICKY_QUERY.read(create(proto.ListStickyRequestSchema, { namespace: "default", limit: 1n, ...change }));
    assert.doesNotThrow(ask({}));
    refused(ask({ namespace: "" }), /^namespace must not be empty/);
    refused(ask({ limit: 0n }), /must be at least 1/);
    refused(ask({ limit: 2n ** 60n }), /limit of a page must/);
    refused(ask({ actorType: "a/b" }), /^actor type must not contain/);
    refused(ask({ actorId: "7" }), /must name its type/);
    refused(ask({ actorType: "Cart", actorId: "" }), /^actor id must not be empty/);
    refused(ask({ prefix: "a\nb" }), /beginning of an actor id must not contain control/);
    refused(ask({ prefix: "a".repeat(600) }), /at most 512 bytes/);
    refused(ask({ after: { actorType: "Cart" } }), /^actor id must not be empty/);
  });

  it("a page of sticky actors that is invalid or too long is rejected", () => {
    const actor: StickyActor = { type: "Cart", id: "7", address: HOST.address, name: "web", since: 1, away: false };
    const page = (change: MessageInitShape<typeof proto.StickyActorSchema>) => () => {
      const response = STICKY_PAGE.write({ actors: [actor], next: undefined });
      Object.assign(response.actors[0]!, change);
      return STICKY_PAGE.read(response);
    };
    assert.doesNotThrow(page({}));
    refused(page({ actorKey: undefined } as never), /has no key/);
    refused(page({ address: "nowhere" }), /must be an address/);
    refused(page({ name: "a\nb" }), /name of a host must not contain/);
    for (const since of BAD_TIMES) refused(page({ since }), /a time must be a whole number/, `${since}`);
    refused(() => STICKY_PAGE.read(create(proto.ListStickyResponseSchema, { next: {} })), /^actor type must not/);

    const { actors } = STICKY_PAGE.write({ actors: many(LIMITS.listPage, () => actor), next: undefined });
    refused(
      () => STICKY_PAGE.read(create(proto.ListStickyResponseSchema, { actors: [...actors, actors[0]!] })),
      /1001 rows are more than the limit of 1000/,
    );
    const long = { actors: many(LIMITS.listPage + 1, () => actor), next: undefined };
    fails("INVARIANT", () => STICKY_PAGE.write(long), /a message carries 1000 rows, not 1001/);
  });
});

describe("size of messages about sticky actors", () => {
  it("a sticky message of the greatest size fits into a control message", () => {
    const text = "ü".repeat(LIMITS.idBytes / 2);
    const host = { address: `${"h".repeat(500)}:65535`, incarnation: text, name: text };
    const type = "T".repeat(LIMITS.wordBytes);
    const since = Number.MAX_SAFE_INTEGER;
    const requests = FULL.map((id, i): StickyRequest => ({ correlation: since - i, type, id, since }));
    const owners = FULL.map((_, i): StickyAnswer => ({ correlation: since - i, kind: "owner", host }));
    const refusals = FULL.map((_, i): StickyAnswer => {
      return { correlation: since - i, kind: "refused", code: "OPTION_INVALID", why: "w".repeat(LIMITS.reasonBytes) };
    });
    const reports: HostMessage[] = [
      { kind: "acquire", requests },
      { kind: "claims", part: since, type, ids: FULL, since: FULL.map(() => since) },
      { kind: "released", type, ids: FULL },
    ];
    for (const message of reports) {
      const bytes = toBinary(proto.HostReportSchema, writeHostMessage(message));
      assert.ok(bytes.length <= LIMITS.controlMessageBytes, `${message.kind}: ${bytes.length}`);
      assert.deepEqual(readHostMessage(fromBinary(proto.HostReportSchema, bytes)), message);
    }
    const replies: SchedulerMessage[] = [
      { kind: "acquired", answers: owners },
      { kind: "acquired", answers: refusals },
      { kind: "granted", type, ids: FULL },
      { kind: "release", type, ids: FULL },
    ];
    for (const message of replies) {
      const [reply] = writeSchedulerMessage(message);
      const bytes = toBinary(proto.SchedulerReplySchema, reply!);
      assert.ok(bytes.length <= LIMITS.controlMessageBytes, `${message.kind}: ${bytes.length}`);
      assert.deepEqual(new ReplyReader().read(fromBinary(proto.SchedulerReplySchema, bytes)), message);
    }
  });

  it("a sticky message that is too long, or has an invalid time, is not sent", () => {
    const since = TOO_MANY.map(() => 1);
    const request: StickyRequest = { correlation: 1, type: "Cart", id: "7", since: 1 };
    const writing = (message: HostMessage) => () => writeHostMessage(message);
    const orders = (message: SchedulerMessage) => () => writeSchedulerMessage(message);
    const long = /carries 2000 sticky actors, not 2001/;
    fails("INVARIANT", writing({ kind: "acquire", requests: TOO_MANY.map(() => request) }), long);
    fails("INVARIANT", writing({ kind: "claims", part: 1, type: "Cart", ids: TOO_MANY, since }), long);
    fails("INVARIANT", writing({ kind: "released", type: "Cart", ids: TOO_MANY }), long);
    const answers = TOO_MANY.map((_, i): StickyAnswer => ({ correlation: i, kind: "granted" }));
    fails("INVARIANT", orders({ kind: "acquired", answers }), long);
    fails("INVARIANT", orders({ kind: "granted", type: "Cart", ids: TOO_MANY }), long);
    fails("INVARIANT", orders({ kind: "release", type: "Cart", ids: TOO_MANY }), long);
    fails("INVARIANT", writing({ kind: "claims", part: 1, type: "Cart", ids: ["7"], since: [] }), /with its time/);
    for (const time of BAD_TIMES) {
      fails("INVARIANT", writing({ kind: "acquire", requests: [{ ...request, since: time }] }), /a time is/, `${time}`);
      fails("INVARIANT", writing({ kind: "claims", part: 1, type: "Cart", ids: ["7"], since: [time] }), /a time is/);
    }
  });

  it("a refusal that is too long is cut", () => {
    const why = "ä".repeat(LIMITS.reasonBytes);
    const [reply] = writeSchedulerMessage({
      kind: "acquired",
      answers: [{ correlation: 1, kind: "refused", code: "OWNER_AWAY", why }],
    });
    const received = new ReplyReader().read(travel(proto.SchedulerReplySchema, reply!));
    assert.ok(received?.kind === "acquired" && received.answers[0]?.kind === "refused");
    assert.ok(Buffer.byteLength(received.answers[0].why) <= LIMITS.reasonBytes);
    assert.ok(received.answers[0].why.startsWith("ä".repeat(400)));
  });

  it("a message without sticky rules leaves the field out", () => {
    const report = writeHostMessage({ kind: "types", types: [], sticky: new Map() });
    assert.deepEqual(readHostMessage(travel(proto.HostReportSchema, report)), { kind: "types", types: [] });
  });
});

describe("sticky messages of a host", () => {
  const key = (actorType: string, actorId: string) => create(proto.StickyActorKeySchema, { actorType, actorId });
  const acquire = (change: MessageInitShape<typeof proto.StickyAcquisitionSchema>) => () =>
    read({
      case: "acquireSticky",
      value: { acquisitions: [{ correlationId: 1n, actorKey: key("Cart", "7"), since: 1, ...change }] },
    });
  const claim = (change: MessageInitShape<typeof proto.StickyClaimsSchema>) => () =>
    read({ case: "stickyClaims", value: { part: 1n, actorType: "Cart", actorIds: ["7"], since: [1], ...change } });
  const release = (change: MessageInitShape<typeof proto.StickyReleasedSchema>) => () =>
    read({ case: "stickyReleased", value: { actorType: "Cart", actorIds: ["7"], ...change } });

  it("a sticky message with an invalid id is rejected", () => {
    for (const read of [acquire({}), claim({}), release({})]) assert.doesNotThrow(read);
    for (const [id, about] of Object.entries(BAD_IDS)) {
      refused(acquire({ actorKey: key("Cart", id) }), about);
      refused(claim({ actorIds: ["7", id], since: [1, 2] }), about);
      refused(release({ actorIds: ["7", id] }), about);
    }
  });

  it("a sticky message with an invalid type is rejected", () => {
    refused(acquire({ actorKey: key("", "7") }), /^actor type must not be empty/);
    refused(claim({ actorType: "a/b" }), /^actor type must not contain/);
    refused(release({ actorType: "" }), /^actor type must not be empty/);
  });

  it("a sticky message with too many actors is rejected", () => {
    const most = /2001 sticky actors are more than the limit of 2000/;
    const acquisitions = TOO_MANY.map((actorId) => ({ actorKey: { actorType: "Cart", actorId } }));
    refused(() => read({ case: "acquireSticky", value: { acquisitions } }), most);
    refused(claim({ actorIds: TOO_MANY, since: TOO_MANY.map(() => 1) }), most);
    refused(release({ actorIds: TOO_MANY }), most);
  });

  it("a sticky message without a key, or with an invalid number, is rejected", () => {
    const keyless = { acquisitions: [{ correlationId: 1n, since: 1 }] };
    refused(() => read({ case: "acquireSticky", value: keyless }), /has no key/);
    refused(acquire({ correlationId: 2n ** 53n }), /a correlation must/);
    refused(claim({ part: 2n ** 53n }), /a part must/);
    for (const time of BAD_TIMES) {
      refused(acquire({ since: time }), /a time must/, `${time}`);
      refused(claim({ since: [time] }), /a time must/, `${time}`);
    }
  });

  it("sticky claims with a different number of times and ids are rejected", () => {
    refused(claim({ since: [] }), /1 ids have 0 times/);
    refused(claim({ since: [1, 2] }), /1 ids have 2 times/);
  });

  it("an invalid rule for lost hosts is rejected", () => {
    const rules: [Record<string, MessageInitShape<typeof proto.StickyRuleSchema>>, RegExp][] = [
      [{ Cart: {} }, /has no rule/],
      [{ Cart: { lost: { case: "never", value: false } } }, /has no rule/],
      [{ Cart: { lost: { case: "afterMs", value: 2n ** 53n } } }, /a delay must/],
      [{ "a/b": { lost: { case: "afterMs", value: 1n } } }, /^actor type must not contain/],
      [
        Object.fromEntries(many(LIMITS.typesPerHost + 1, (i) => [`T${i}`, {}])),
        /1001 sticky types are more than the limit of 1000/,
      ],
    ];
    for (const [sticky, about] of rules) {
      refused(() => read({ case: "types", value: { sticky } }), about);
      refused(() => {
        const report = writeHostMessage(HELLO);
        (report.report.value as proto.Host).sticky = create(proto.HostSchema, { sticky }).sticky;
        return readHostMessage(report);
      }, about);
    }
  });
});

describe("sticky messages of the leader", () => {
  const answer = (result: MessageInitShape<typeof proto.StickyAcquisitionResponseSchema>) => () =>
    obey({ case: "sticky", value: { responses: [{ correlationId: 1n, ...result }] } });
  const owner = { name: HOST.address, port: 7400n, appID: HOST.name, incarnation: HOST.incarnation };

  it("an invalid answer about a sticky actor is rejected", () => {
    assert.doesNotThrow(answer({ result: { case: "granted", value: true } }));
    refused(answer({}), /has an unknown kind/);
    refused(answer({ result: { case: "granted", value: false } }), /has an unknown kind/);
    refused(answer({ correlationId: 2n ** 53n, result: { case: "granted", value: true } }), /a correlation must/);
  });

  it("an answer with an invalid owner is rejected", () => {
    assert.doesNotThrow(answer({ result: { case: "ownerHost", value: owner } }));
    refused(answer({ result: { case: "ownerHost", value: { ...owner, name: "" } } }), /must be an address/);
    refused(answer({ result: { case: "ownerHost", value: { ...owner, port: 1n } } }), /another port/);
    refused(answer({ result: { case: "ownerHost", value: { ...owner, incarnation: "" } } }), /incarnation of a host/);
  });

  it("a refusal with an unknown reason is rejected", () => {
    assert.doesNotThrow(answer({ result: { case: "refusal", value: { code: "OWNER_AWAY" } } }));
    for (const code of ["", "CALL_TIMEOUT", "constructor", "owner_away"]) {
      refused(answer({ result: { case: "refusal", value: { code } } }), /an unknown reason/, code);
    }
  });

  it("a leader's message with too many actors, or an invalid id, is rejected", () => {
    const most = /2001 sticky actors are more than the limit of 2000/;
    const responses = TOO_MANY.map(() => ({ result: { case: "granted", value: true } as const }));
    refused(() => obey({ case: "sticky", value: { responses } }), most);
    for (const about of ["stickyGranted", "stickyRelease"] as const) {
      refused(() => obey({ case: about, value: { actorType: "Cart", actorIds: TOO_MANY } }), most);
      refused(() => obey({ case: about, value: { actorType: "", actorIds: ["7"] } }), /^actor type must not/);
      for (const [id, wrong] of Object.entries(BAD_IDS)) {
        refused(() => obey({ case: about, value: { actorType: "Cart", actorIds: [id] } }), wrong);
      }
    }
    refused(() => obey({ case: "stickyNoted", value: { part: 2n ** 53n } }), /a part must/);
  });

  it("an invalid view of a sticky type is rejected", () => {
    const rule = { lost: { case: "afterMs", value: 0n } } as const;
    const holder = { address: HOST.address, name: HOST.name, actors: 1n };
    const look = (sticky: MessageInitShape<typeof proto.ClusterStickySchema>) => () => {
      const table = { namespace: "d", type: "Cart", phase: 2, sticky };
      return CLUSTER_VIEW.read(create(proto.DescribeClusterResponseSchema, { tables: [table] }));
    };
    assert.doesNotThrow(look({ rule, holders: [holder] }));
    refused(look({ holders: [holder] }), /has no rule/);
    refused(look({ rule, holders: [{ ...holder, address: "" }] }), /must be an address/);
    refused(look({ rule, holders: [{ ...holder, name: "\n" }] }), /name of a host must not/);
    refused(look({ rule, holders: [{ ...holder, actors: 2n ** 53n }] }), /a number of actors must/);
  });
});
