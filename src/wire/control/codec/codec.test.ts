// The type checker rejects a table that does not fit both sides; these tables would not compile otherwise.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { type Codec, message, union } from "./codec.ts";
import { orAbsent, plainText, TYPE, wholeNumber } from "./value-codecs.ts";

type Renewal = Codec<{ readonly sequence: number; readonly actors: number }, proto.Renewal>;
const NUMBER = wholeNumber("a number");

describe("message table", () => {
  it("a message table needs a row for every field of the port's message", () => {
    // @ts-expect-error There is no row for `actors`.
    const partial: Renewal = message(proto.RenewalSchema, { sequence: NUMBER });
    assert.deepEqual(partial.read(partial.write({ sequence: 1, actors: 2 })), { sequence: 1 });
  });

  it("a row of a message table fits the types of both messages", () => {
    // @ts-expect-error The generated field `actors` is no text.
    message<{ actors: string }, proto.Renewal>(proto.RenewalSchema, { actors: plainText("a text") });
    // @ts-expect-error There is no generated field `actorTypes`.
    message<{ type: string }, proto.ShardStep>(proto.ShardStepSchema, { type: ["actorTypes", TYPE] });
  });

  it("an absent value becomes no property, and an unknown case is rejected", () => {
    const host: Codec<{ readonly name?: string }, proto.TableHost> = message(proto.TableHostSchema, {
      name: ["appID", orAbsent(plainText("the name"))],
    });
    assert.deepEqual(host.read(host.write({ name: undefined })), {});
    const steering = union<{ readonly kind: "pause" }, proto.SteerShardsRequest["act"]>(
      { pause: ["pause", { write: () => true, read: () => ({}) }] },
      "an unknown kind",
    );
    assert.deepEqual(steering.read(steering.write({ kind: "pause" })), { kind: "pause" });
    assert.throws(() => steering.read({ case: undefined }), { code: "PROTOCOL", message: "an unknown kind" });
  });
});
