// The control server is plain gRPC: these tests use only HTTP/2 and hand-made frames.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { LimpetError } from "../../kernel/errors.ts";
import * as proto from "../proto/gen/limpet/control/v1/control_pb.js";
import { writeHostMessage } from "./codec/message-codec.ts";
import { HELLO, openTestServer } from "./control-kit.test.ts";
import { call, callReport, dial, frame, HELLO_FRAME, report, SERVICE } from "./raw-kit.test.ts";

describe("control server with a plain gRPC client", () => {
  it("a plain gRPC client can send a request", async (t) => {
    const testServer = await openTestServer(t);
    const { stream, answer } = call(dial(t, testServer.port), `${SERVICE}/DescribeCluster`);
    stream.end(frame(new Uint8Array()));
    const { status, grpcStatus, messages } = await answer;
    assert.deepEqual([status, grpcStatus], [200, "0"]);
    assert.equal(fromBinary(proto.DescribeClusterResponseSchema, messages[0]!).term, 1n);
  });

  it("a plain gRPC client reads an error in the status, and the Limpet code beside it", async (t) => {
    const testServer = await openTestServer(t);
    testServer.service.onDrain = async () => {
      throw new LimpetError("HOST_UNKNOWN", "there is no host „web“");
    };
    const { stream, answer } = call(dial(t, testServer.port), `${SERVICE}/DrainHost`);
    stream.end(frame(toBinary(proto.DrainHostRequestSchema, create(proto.DrainHostRequestSchema, { host: "web" }))));
    const { status, grpcStatus, code, message } = await answer;
    assert.deepEqual([status, grpcStatus, code], [200, "5", "HOST_UNKNOWN"]);
    assert.equal(message, "there is no host „web“");
  });

  it("a plain gRPC client can act as a host, with frames that are cut anywhere", async (t) => {
    const testServer = await openTestServer(t);
    const { stream, answer } = callReport(dial(t, testServer.port));
    const renew = report({ report: { case: "renew", value: { sequence: 1n, actors: 2n } } });
    for (const byte of Buffer.concat([HELLO_FRAME, renew])) stream.write(Buffer.from([byte]));
    const host = await testServer.service.host();
    assert.deepEqual(await host.receives(2), [HELLO, { kind: "renew", sequence: 1, actors: 2 }]);
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

  it("a client that did not ask for less receives tables of which each lists its own hosts", async (t) => {
    const hosts = ["a:1", "b:1"].map((address) => ({ address, incarnation: `i-${address}`, name: "n" }));
    const tables = ["T1", "T2"].map((type) => ({ type, version: { term: 1, number: 1 }, base: undefined, hosts }));
    const about = { kind: "order", operation: "update", namespace: "n", term: 1, round: 0 } as const;
    const entriesFor = async (readsSameHostsAs: boolean) => {
      const testServer = await openTestServer(t);
      const { stream, answer } = callReport(dial(t, testServer.port));
      const hello = writeHostMessage(HELLO);
      assert.ok(hello.report.case === "hello");
      hello.report.value.readsSameHostsAs = readsSameHostsAs;
      stream.write(frame(toBinary(proto.HostReportSchema, hello)));
      const host = await testServer.service.host();
      await host.receives(1);
      host.stream.send({ ...about, types: [], tables, replicationFactor: 10 });
      stream.end();
      const { messages } = await answer;
      const { reply } = fromBinary(proto.SchedulerReplySchema, messages[0]!);
      assert.ok(reply.case === "order");
      return Object.values(reply.value.tables!.entries).map((table) => Object.keys(table.hosts).length);
    };
    assert.deepEqual(await entriesFor(false), [2, 2]);
    assert.deepEqual(await entriesFor(true), [2, 0]);
  });

  it("a plain gRPC client can watch the schedulers", async (t) => {
    const testServer = await openTestServer(t);
    const { stream, answer } = call(dial(t, testServer.port), `${SERVICE}/WatchHosts`);
    stream.end(frame(new Uint8Array()));
    await new Promise((resolve) => stream.once("data", resolve));
    testServer.service.publish({ term: 2, hosts: [] });
    await new Promise((resolve) => stream.once("data", resolve));
    await testServer.close();
    const { grpcStatus, code, messages } = await answer;
    assert.deepEqual([grpcStatus, code], ["14", "STOPPING"]);
    assert.deepEqual(
      messages.map((bytes) => fromBinary(proto.WatchHostsResponseSchema, bytes).term),
      [1n, 2n],
    );
  });
});
