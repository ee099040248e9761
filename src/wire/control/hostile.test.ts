// Hostile input at the control server. Other peers are served as before.
import assert from "node:assert/strict";
import { constants, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect, createServer } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { stretchedMs } from "../../../test/support/busy.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import { silentLog } from "../../ports/log.ts";
import { type HostReport, SchedulerReplySchema } from "../proto/gen/limpet/control/v1/control_pb.js";
import { writeHostMessage } from "./codec/message-codec.ts";
import {
  EMPTY_VIEW,
  FakeScheduler,
  HELLO,
  hasCode,
  openClient,
  openHost,
  type ServedHost,
  TestListener,
  until,
} from "./control-kit.test.ts";
import { CONTROL_LIMITS } from "./limits.ts";
import { call, callReport, dial, frame, HELLO_FRAME, openRawServer, report, SERVICE } from "./raw-kit.test.ts";
import { HostStream } from "./server/host-stream.ts";

/** A bystander's stream, which must work as before when the test is over. */
async function openWitnessed(t: TestContext, setting: Parameters<typeof openHost>[1] = {}) {
  const witness = await openHost(t, setting);
  return {
    ...witness,
    port: witness.testServer.port,
    async unharmed(): Promise<void> {
      witness.host.stream.send({ kind: "drain" });
      assert.deepEqual(await witness.ear.receives(1), [{ kind: "drain" }]);
      assert.deepEqual(await witness.client.admin({ kind: "cluster" }), EMPTY_VIEW);
    },
  };
}

/** Sends bytes to the port; resolves when the server has closed the connection. */
function throwAt(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(received));
  });
}

describe("peers without gRPC at the control server", () => {
  it("a peer that sends an HTTP/1 request is disconnected", async (t) => {
    const { port, unharmed } = await openWitnessed(t);
    await throwAt(port, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await throwAt(port, `POST ${SERVICE}/DrainHost HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n`);
    await unharmed();
  });

  it("a peer that sends random bytes is disconnected", async (t) => {
    const { port, unharmed } = await openWitnessed(t);
    const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    await Promise.all([
      throwAt(port, Buffer.alloc(1_000, 0xff)),
      throwAt(port, Buffer.from("160301020001", "hex")),
      throwAt(port, Buffer.concat([preface, Buffer.alloc(1_000, 0xff)])),
      // A headers frame on stream 0, and one with a length above the limit.
      throwAt(
        port,
        Buffer.concat([preface, Buffer.from("000000040000000000" + "000005010000000000" + "0000000000", "hex")]),
      ),
      throwAt(port, Buffer.concat([preface, Buffer.from("ffffff000000000001", "hex"), Buffer.alloc(100)])),
    ]);
    await unharmed();
  });

  it("a request to an unknown path is rejected", async (t) => {
    const { port, unharmed } = await openWitnessed(t);
    const session = dial(t, port);
    for (const path of ["/", "/nowhere", `${SERVICE}/Nothing`, `${SERVICE}/DrainHost/x`, "//", "/%00"]) {
      const { stream, answer } = call(session, path);
      stream.end();
      const { status, grpcStatus, code } = await answer;
      assert.deepEqual([status, grpcStatus, code], [200, "12", "ROUTE_UNKNOWN"], path);
    }
    await unharmed();
  });

  it("a request with another content type or another verb is rejected", async (t) => {
    const { port, unharmed } = await openWitnessed(t);
    const session = dial(t, port);
    const all: Record<string, string>[] = [
      { "content-type": "application/json" },
      { "content-type": "application/proto" },
      { "content-type": "application/connect+proto" },
      { "content-type": "application/grpc-web" },
      { "content-type": "application/grpc+json" },
      { "content-type": "" },
      { ":method": "GET" },
      { ":method": "CONNECT-ME" },
    ];
    for (const headers of all) {
      const { stream, answer } = call(session, `${SERVICE}/DescribeCluster`, headers);
      stream.end();
      assert.equal((await answer).status, 415, JSON.stringify(headers));
    }
    await unharmed();
  });

  it("a request with an invalid authority is rejected", async (t) => {
    const { port, unharmed } = await openWitnessed(t);
    const { stream, answer } = call(dial(t, port), `${SERVICE}/DescribeCluster`, { ":authority": "[:::" });
    stream.end();
    assert.equal((await answer).status, 400);
    await unharmed();
  });

  it("a request with endless headers is rejected", async (t) => {
    const { port, unharmed } = await openWitnessed(t);
    const session = dial(t, port);
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`h${i}`, "x".repeat(1_000)]));
    const { stream, answer } = call(session, `${SERVICE}/DescribeCluster`, many);
    stream.end();
    assert.notEqual((await answer).grpcStatus, "0");
    await unharmed();
  });

  it("a peer that opens and resets streams rapidly disturbs no other peer", async (t) => {
    const { port, unharmed, service } = await openWitnessed(t);
    const session = dial(t, port);
    for (let i = 0; i < 100 && !session.destroyed; i++) {
      const { stream } = callReport(session);
      stream.write(HELLO_FRAME);
      stream.close(constants.NGHTTP2_CANCEL);
    }
    await unharmed();
    session.destroy();
    await until(() => service.hosts.slice(1).every(({ ends }) => ends === 1));
  });
});

describe("protocol violations on a host's stream", () => {
  const answerTo = async (t: TestContext, bytes: Buffer) => {
    const { port, service, unharmed } = await openWitnessed(t, { limits: { lingerMs: stretchedMs(50) } });
    const { stream, answer } = callReport(dial(t, port));
    stream.write(bytes);
    const { code, grpcStatus, message } = await answer;
    const host = service.hosts[1]!;
    const error = await host.ended;
    assert.equal(error?.code, code);
    await unharmed();
    return { code, grpcStatus, message, heard: host.received };
  };
  const goodbye = report({ report: { case: "goodbye", value: {} } });

  it("a stream whose first message is not a hello is rejected", async (t) => {
    const { heard, message, ...status } = await answerTo(t, goodbye);
    assert.deepEqual(status, { code: "PROTOCOL", grpcStatus: "3" });
    assert.match(message, /the first message of a host must be a hello/);
    assert.deepEqual(heard, []);
  });

  it("a stream with a second hello is rejected", async (t) => {
    const { code, message, heard } = await answerTo(t, Buffer.concat([HELLO_FRAME, HELLO_FRAME, goodbye]));
    assert.equal(code, "PROTOCOL");
    assert.match(message, /must send one hello/);
    assert.deepEqual(heard, [HELLO]);
  });

  it("a message that is not protobuf, or is empty, is rejected", async (t) => {
    for (const bytes of [Buffer.from("ffffffff", "hex"), Buffer.alloc(0), Buffer.from("0a05", "hex")]) {
      assert.equal((await answerTo(t, Buffer.concat([HELLO_FRAME, frame(bytes)]))).code, "PROTOCOL");
    }
  });

  it("a message that is nested without end is rejected", async (t) => {
    // Unknown groups, a hundred thousand deep.
    assert.equal((await answerTo(t, frame(Buffer.alloc(100_000, 0xfb)))).code, "PROTOCOL");
  });

  it("a message that is too large is rejected before it has arrived", async (t) => {
    const { code, message } = await answerTo(t, frame(Buffer.alloc(10), 0, CONTROL_LIMITS.messageBytes + 1));
    assert.equal(code, "PROTOCOL");
    assert.match(message, /4194305 is larger/);
  });

  it("a compressed message is rejected", async (t) => {
    assert.equal((await answerTo(t, frame(Buffer.alloc(10), 1))).code, "PROTOCOL");
  });

  it("a report with an invalid type or version is rejected", async (t) => {
    const types = report({ report: { case: "types", value: { actorTypes: ["a/b"] } } });
    assert.match((await answerTo(t, Buffer.concat([HELLO_FRAME, types]))).message, /actor type must not contain/);
  });

  it("an invalid message about sticky actors is rejected", async (t) => {
    const actorIds = Array.from({ length: LIMITS.stickyChunk + 1 }, (_, i) => `${i}`);
    const key = { actorType: "Cart", actorId: "7" };
    const wrong: [NonNullable<Parameters<typeof report>[0]["report"]>, RegExp][] = [
      [
        { case: "stickyReleased", value: { actorType: "Cart", actorIds } },
        /2001 sticky actors are more than the limit of 2000/,
      ],
      [{ case: "stickyReleased", value: { actorType: "Cart", actorIds: ["a/b"] } }, /actor id must not contain/],
      [{ case: "acquireSticky", value: { acquisitions: [{ correlationId: 1n }] } }, /has no key/],
      [{ case: "acquireSticky", value: { acquisitions: [{ actorKey: key, since: 0.5 }] } }, /a time must/],
      [{ case: "stickyClaims", value: { actorType: "Cart", actorIds: ["7"], since: [1, 2] } }, /1 ids have 2/],
      [{ case: "types", value: { actorTypes: ["Cart"], sticky: { Cart: {} } } }, /has no rule/],
    ];
    for (const [reported, about] of wrong) {
      const { code, message, heard } = await answerTo(t, Buffer.concat([HELLO_FRAME, report({ report: reported })]));
      assert.equal(code, "PROTOCOL");
      assert.match(message, about);
      assert.deepEqual(heard, [HELLO]);
    }
  });

  it("a stream that ends within a message is rejected", async (t) => {
    const { port, service, unharmed } = await openWitnessed(t);
    const { stream, answer } = callReport(dial(t, port));
    stream.end(Buffer.concat([HELLO_FRAME, goodbye.subarray(0, 3)]));
    assert.equal((await answer).code, "PROTOCOL");
    assert.ok(hasCode("PROTOCOL")(await service.hosts[1]!.ended));
    await unharmed();
  });

  it("a host that keeps sending after a violation still learns the reason", async (t) => {
    const { port, unharmed } = await openWitnessed(t, { limits: { lingerMs: stretchedMs(20) } });
    const { stream, answer } = callReport(dial(t, port));
    stream.write(goodbye);
    const more = setInterval(() => stream.writable && stream.write(Buffer.alloc(10_000)), 1);
    t.after(() => clearInterval(more));
    assert.equal((await answer).code, "PROTOCOL");
    await unharmed();
  });
});

describe("slow peers at the control server", () => {
  it("a stream without a first message is closed", async (t) => {
    const { testServer, unharmed, service } = await openWitnessed(t, { limits: { firstMessageMs: 30 } });
    const listener = new TestListener<SchedulerMessage>();
    openClient(t, testServer).report(listener);
    assert.ok(hasCode("REQUEST_TIMEOUT", /must send a hello within 30 ms/)(await listener.ended));
    assert.ok(hasCode("REQUEST_TIMEOUT")(await service.hosts[1]!.ended));
    await unharmed();
  });

  it("a request that is never complete is rejected", async (t) => {
    const { port, unharmed } = await openWitnessed(t, { limits: { firstMessageMs: 30, lingerMs: stretchedMs(50) } });
    const session = dial(t, port);
    for (const method of ["WatchHosts", "DescribeCluster", "DrainHost", "ListSticky", "ReleaseSticky"]) {
      const { stream, answer } = call(session, `${SERVICE}/${method}`);
      stream.write(frame(new Uint8Array()));
      const { code, grpcStatus } = await answer;
      assert.deepEqual([code, grpcStatus], ["REQUEST_TIMEOUT", "4"], method);
    }
    await unharmed();
  });

  it("a host that does not read is disconnected", async (t) => {
    const { port, service, unharmed } = await openWitnessed(t, { limits: { queue: 50 } });
    const { stream, answer } = callReport(dial(t, port));
    stream.pause();
    stream.write(HELLO_FRAME);
    const host = await service.host(1);
    await host.receives(1);
    const removed = { kind: "removed", reason: "x".repeat(1_000) } as const;
    while (host.ends === 0) {
      host.stream.send(removed);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(hasCode("LINK_FULL", /does not read its messages/)(await host.ended));
    stream.resume();
    assert.notEqual((await answer).grpcStatus, "0");
    await unharmed();
  });
});

describe("stream limit of the control server", () => {
  it("streams are served up to the limit, and the next one is asked to retry later", async (t) => {
    const { testServer, client, unharmed } = await openWitnessed(t, { limits: { streams: 3 } });
    const stop = client.watch({ list: () => {}, closed: () => {} });
    await until(() => testServer.service.watchers.size === 1);
    const another = openClient(t, testServer).watch({ list: () => {}, closed: () => {} });
    await until(() => testServer.service.watchers.size === 2);
    const listener = new TestListener<SchedulerMessage>();
    client.report(listener).send(HELLO);
    assert.ok(hasCode("HOST_FULL", /serves 3 streams, which is the limit/)(await listener.ended));
    stop();
    another();
    await until(() => testServer.service.watchers.size === 0);
    await unharmed();
  });
});

describe("hosts on other machines", () => {
  const seen = async (address: string, sameMachine: boolean) => {
    const service = new FakeScheduler();
    const over = new AbortController();
    const peer = { address: "10.0.0.5", sameMachine };
    const deps = { service, peer, over: over.signal, cut: () => {}, log: silentLog, limits: CONTROL_LIMITS };
    const open = Promise.withResolvers<never>();
    async function* reports(): AsyncGenerator<HostReport> {
      yield writeHostMessage({ ...HELLO, address } as HostMessage);
      await open.promise;
    }
    const stream = new HostStream(deps);
    const replies = stream.serve(reports())[Symbol.asyncIterator]();
    const host = service.hosts[0] as ServedHost;
    await host.receives(1);
    const [{ ends, error, received }] = [host];
    if (ends > 0) await assert.rejects(replies.next(), /set cluster.host/);
    over.abort();
    return { error, heard: received.length };
  };

  it("a host on another machine is rejected when it announces a loopback address", async () => {
    for (const address of ["127.0.0.1:7400", "localhost:7400", "[::1]:7400"]) {
      const { error, heard } = await seen(address, false);
      assert.ok(hasCode("OPTION_INVALID", /other machines cannot reach; set cluster.host/)(error), address);
      assert.equal(heard, 0);
    }
  });

  it("a remote host with its own address is accepted, and a local host with any address", async () => {
    assert.deepEqual(await seen("10.0.0.5:7400", false), { error: undefined, heard: 1 });
    assert.deepEqual(await seen("127.0.0.1:7400", true), { error: undefined, heard: 1 });
  });
});

describe("a control client in front of a server that is not a scheduler", () => {
  const listen = async (t: TestContext, hello: string) => {
    const server = createServer((socket) => {
      t.after(() => socket.destroy());
      socket.on("error", () => {}).resume();
      if (hello !== "") socket.end(hello);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    return { address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
  };

  it("a control client reports a web server as unreachable", async (t) => {
    const client = openClient(t, await listen(t, "HTTP/1.1 400 Bad Request\r\n\r\n"));
    await assert.rejects(
      client.admin({ kind: "cluster" }),
      hasCode("UNREACHABLE", /closed the connection at once; it is not a Limpet process/),
    );
  });

  it("a control client reports a server that never answers", async (t) => {
    const client = openClient(t, await listen(t, ""), { limits: { connectMs: 30 } });
    await assert.rejects(client.admin({ kind: "cluster" }), hasCode("UNREACHABLE", /no answer within 30 ms/));
    const listener = new TestListener<SchedulerMessage>();
    client.report(listener).send(HELLO);
    assert.ok(hasCode("UNREACHABLE", /no answer within 30 ms/)(await listener.ended));
  });

  it("a control client reports invalid answers", async (t) => {
    const with200 = (bytes?: Buffer) => (stream: ServerHttp2Stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      stream.end(bytes);
    };
    const answers: [string, (stream: ServerHttp2Stream) => void, RegExp][] = [
      ["a web page", (stream) => stream.respond({ ":status": 404 }, { endStream: true }), /PROTOCOL|UNREACHABLE/],
      ["bytes", with200(Buffer.alloc(100, 0xff)), /PROTOCOL/],
      ["an empty reply", with200(frame(new Uint8Array())), /PROTOCOL/],
      ["a broken reply", with200(frame(Buffer.from("ff", "hex"))), /UNREACHABLE/],
      ["no status", with200(), /UNREACHABLE/],
      ["a reset", (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR), /UNREACHABLE/],
    ];
    for (const [what, answer, code] of answers) {
      const client = openClient(t, await openRawServer(t, answer));
      const listener = new TestListener<SchedulerMessage>();
      client.report(listener).send(HELLO);
      assert.match(String((await listener.ended)?.code), code, what);
      assert.deepEqual(listener.received, [], what);
      await assert.rejects(client.admin({ kind: "cluster" }), what);
      await client.close();
    }
  });

  it("a control client reports invalid answers about sticky actors", async (t) => {
    const actorIds = Array.from({ length: LIMITS.stickyChunk + 1 }, (_, i) => `${i}`);
    const refusal = { case: "refusal", value: { code: "CALL_TIMEOUT", message: "" } } as const;
    const replies: [NonNullable<MessageInitShape<typeof SchedulerReplySchema>["reply"]>, RegExp][] = [
      [{ case: "sticky", value: { responses: [{ correlationId: 1n, result: refusal }] } }, /an unknown reason/],
      [{ case: "sticky", value: { responses: [{ correlationId: 1n }] } }, /has an unknown kind/],
      [{ case: "stickyRelease", value: { actorType: "Cart", actorIds } }, /2001 sticky actors are more than/],
      [{ case: "stickyGranted", value: { actorType: "Cart", actorIds: [".."] } }, /actor id must not be/],
    ];
    for (const [reply, about] of replies) {
      const bytes = toBinary(SchedulerReplySchema, create(SchedulerReplySchema, { reply }));
      const raw = await openRawServer(t, (stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc" });
        stream.write(frame(bytes));
      });
      const listener = new TestListener<SchedulerMessage>();
      openClient(t, raw).report(listener).send(HELLO);
      const error = await listener.ended;
      assert.ok(hasCode("PROTOCOL", about)(error), String(error));
      assert.deepEqual(listener.received, []);
    }
  });

  it("a control client gives up on a scheduler that does not read", async (t) => {
    const raw = await openRawServer(t, (stream) => stream.pause());
    const listener = new TestListener<SchedulerMessage>();
    const stream = openClient(t, raw, { limits: { queue: 50 } }).report(listener);
    stream.send({ ...HELLO, types: Array.from({ length: 1_000 }, (_, i) => `${i}${"T".repeat(100)}`) });
    while (listener.ends === 0) {
      stream.send({ kind: "types", types: ["T".repeat(100)] });
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(hasCode("LINK_FULL")(await listener.ended));
  });

  it("a control client does not send a message that is too large, and reports it", async (t) => {
    const { stream, ear: listener, host } = await openHost(t, { limits: { messageBytes: 10_000 } });
    stream.send({ kind: "types", types: Array.from({ length: 1_000 }, (_, i) => `${i}${"T".repeat(100)}`) });
    assert.ok(hasCode("PROTOCOL")(await listener.ended));
    // The scheduler sees a stream that was reset or one that ended, depending on timing.
    await host.ended;
    assert.ok(host.received.every(({ kind }) => kind !== "types"));
  });
});
