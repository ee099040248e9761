// The control door is plain gRPC: here it is talked to with nothing but HTTP/2 and frames made by hand.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { LimpetError } from "../../kernel/errors.ts";
import * as proto from "../proto/gen/limpet/control/v1/control_pb.js";
import { HELLO, openDoor } from "./control-kit.test.ts";
import { call, callReport, dial, frame, HELLO_FRAME, report, SERVICE } from "./raw-kit.test.ts";

describe("any gRPC client", () => {
  it("can ask a question", async (t) => {
    const door = await openDoor(t);
    const { stream, answer } = call(dial(t, door.port), `${SERVICE}/DescribeCluster`);
    stream.end(frame(new Uint8Array()));
    const { status, grpcStatus, messages } = await answer;
    assert.deepEqual([status, grpcStatus], [200, "0"]);
    assert.equal(fromBinary(proto.DescribeClusterResponseSchema, messages[0]!).term, 1n);
  });

  it("reads an error in the status, and ours beside it", async (t) => {
    const door = await openDoor(t);
    door.service.onDrain = async () => {
      throw new LimpetError("HOST_UNKNOWN", "there is no host „web“");
    };
    const { stream, answer } = call(dial(t, door.port), `${SERVICE}/DrainHost`);
    stream.end(frame(toBinary(proto.DrainHostRequestSchema, create(proto.DrainHostRequestSchema, { host: "web" }))));
    const { status, grpcStatus, code, message } = await answer;
    assert.deepEqual([status, grpcStatus, code], [200, "5", "HOST_UNKNOWN"]);
    assert.equal(message, "there is no host „web“");
  });

  it("can be a host, with frames that are cut anywhere", async (t) => {
    const door = await openDoor(t);
    const { stream, answer } = callReport(dial(t, door.port));
    const renew = report({ report: { case: "renew", value: { sequence: 1n, actors: 2n } } });
    for (const byte of Buffer.concat([HELLO_FRAME, renew])) stream.write(Buffer.from([byte]));
    const host = await door.service.host();
    assert.deepEqual(await host.hears(2), [HELLO, { kind: "renew", sequence: 1, actors: 2 }]);
    host.stream.send({ kind: "welcome", term: 3, leaseMs: 4_000 });
    host.stream.send({ kind: "renewed", sequence: 1 });
    stream.end();
    const { grpcStatus, messages } = await answer;
    assert.equal(grpcStatus, "0");
    const replies = messages.map((bytes) => fromBinary(proto.SchedulerReplySchema, bytes).reply);
    assert.deepEqual(
      replies.map((reply) => reply.case),
      ["welcome", "renewed"],
    );
    assert.equal(await host.ended, undefined);
  });

  it("can watch the schedulers", async (t) => {
    const door = await openDoor(t);
    const { stream, answer } = call(dial(t, door.port), `${SERVICE}/WatchHosts`);
    stream.end(frame(new Uint8Array()));
    await new Promise((resolve) => stream.once("data", resolve));
    door.service.tell({ term: 2, hosts: [] });
    await new Promise((resolve) => stream.once("data", resolve));
    await door.close();
    const { grpcStatus, code, messages } = await answer;
    assert.deepEqual([grpcStatus, code], ["14", "STOPPING"]);
    assert.deepEqual(
      messages.map((bytes) => fromBinary(proto.WatchHostsResponseSchema, bytes).term),
      [1n, 2n],
    );
  });
});
