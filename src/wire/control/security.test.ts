// The control plane with a cluster key: admission and rejection of clients.
import assert from "node:assert/strict";
import { connect as connectTcp } from "node:net";
import { describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import type { SchedulerMessage } from "../../ports/control-messages.ts";
import { type ClusterSecurity, clientTls, NO_SECURITY } from "../cluster-security.ts";
import {
  EMPTY_VIEW,
  HELLO,
  hasCode,
  openClient,
  openHost,
  openTestServer,
  rememberingLog,
  TestListener,
  until,
} from "./control-kit.test.ts";

const OLD: ClusterSecurity = { keys: ["the old key of this cluster"] };
const NEW: ClusterSecurity = { keys: ["the new key of this cluster"] };
const BOTH: ClusterSecurity = { keys: [...NEW.keys, ...OLD.keys] };

describe("control server with a cluster key", () => {
  it("a client with the cluster key is served", async (t) => {
    const { client, host, ear: listener } = await openHost(t, { security: OLD });
    host.stream.send({ kind: "drain" });
    assert.deepEqual(await listener.receives(1), [{ kind: "drain" }]);
    assert.deepEqual(await client.admin({ kind: "cluster" }), EMPTY_VIEW);
  });

  it("a client with another cluster key is rejected, and both sides learn the reason", async (t) => {
    const { log, lines } = rememberingLog();
    const testServer = await openTestServer(t, { security: OLD, deps: { log } });
    const client = openClient(t, testServer, { security: NEW });
    await assert.rejects(
      client.admin({ kind: "cluster" }),
      hasCode("UNAUTHENTICATED", /has another cluster key, or none/),
    );
    const listener = new TestListener<SchedulerMessage>();
    client.report(listener).send(HELLO);
    assert.ok(hasCode("UNAUTHENTICATED")(await listener.ended));
    await until(() => lines.filter(({ event }) => event === "control.refused").length === 1);
    assert.equal(testServer.service.hosts.length, 0);
    assert.ok(!JSON.stringify(lines).includes(OLD.keys[0]!));
  });

  it("a control server accepts each of its keys while they are being changed", async (t) => {
    const testServer = await openTestServer(t, { security: BOTH });
    for (const security of [OLD, NEW, BOTH]) {
      assert.deepEqual(await openClient(t, testServer, { security }).admin({ kind: "cluster" }), EMPTY_VIEW);
    }
  });

  it("a client without TLS is rejected and learns that a key may be missing", async (t) => {
    const testServer = await openTestServer(t, { security: OLD });
    const client = openClient(t, testServer);
    await assert.rejects(
      client.admin({ kind: "cluster" }),
      hasCode("UNREACHABLE", /requires a cluster key that this process lacks/),
    );
    const listener = new TestListener<SchedulerMessage>();
    client.report(listener).send(HELLO);
    assert.ok(hasCode("UNREACHABLE")(await listener.ended));
  });

  it("a control server with a key survives random bytes and a peer without HTTP/2", async (t) => {
    const { testServer, client } = await openHost(t, { security: OLD, limits: { lingerMs: 50 } });
    const closed = async (socket: ReturnType<typeof connectTcp>) => {
      socket.on("error", () => {}).resume();
      await new Promise((resolve) => socket.once("close", resolve));
    };
    const stranger = connectTcp(testServer.port, "127.0.0.1", () => stranger.write(Buffer.alloc(1_000, 0xff)));
    await closed(stranger);
    const member = connectTls({ host: "127.0.0.1", port: testServer.port, ...clientTls(OLD) });
    member.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await closed(member);
    assert.deepEqual(await client.admin({ kind: "cluster" }), EMPTY_VIEW);
  });

  it("a control server closes at once during an unfinished TLS handshake", async (t) => {
    const testServer = await openTestServer(t, { security: OLD });
    const socket = connectTcp(testServer.port, "127.0.0.1");
    socket.on("error", () => {}).resume();
    await new Promise((resolve) => socket.once("connect", resolve));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await testServer.close();
    await closed;
  });
});

describe("control client with a cluster key", () => {
  it("a client with a cluster key rejects a server without one", async (t) => {
    const testServer = await openTestServer(t, { security: NO_SECURITY });
    const client = openClient(t, testServer, { security: OLD });
    await assert.rejects(client.admin({ kind: "cluster" }), hasCode("UNAUTHENTICATED", /does not use TLS/));
  });
});
