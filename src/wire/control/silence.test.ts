// A connection that goes dead without a close, as when a machine loses power: both ends must detect it
// themselves.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import type { SchedulerMessage } from "../../ports/control-messages.ts";
import { type ClusterSecurity, NO_SECURITY } from "../cluster-security.ts";
import { HELLO, hasCode, openClient, openProxy, openTestServer, TestListener, until } from "./control-kit.test.ts";
import { CONTROL_LIMITS } from "./limits.ts";

const KEYED: ClusterSecurity = { keys: ["a key of a cluster in a test"] };
const quick = { tickMs: 20, silentTicks: 5 };

describe("dead connection", () => {
  for (const [how, security] of [
    ["without TLS", NO_SECURITY],
    ["with TLS", KEYED],
  ] as const) {
    it(`a dead connection is detected by both ends ${how}`, async (t) => {
      const testServer = await openTestServer(t, { security, limits: quick });
      const between = await openProxy(t, testServer.port);
      const listener = new TestListener<SchedulerMessage>();
      openClient(t, between, { security, limits: quick }).report(listener).send(HELLO);
      const host = await testServer.service.host();
      await host.receives(1);
      between.freeze();
      assert.ok(hasCode("UNREACHABLE", /no longer answers/)(await listener.ended));
      assert.ok(hasCode("UNREACHABLE")(await host.ended));
    });

    it(`a connection without messages is not taken for dead ${how}`, async (t) => {
      const testServer = await openTestServer(t, { security, limits: quick });
      const between = await openProxy(t, testServer.port);
      const listener = new TestListener<SchedulerMessage>();
      openClient(t, between, { security, limits: quick }).report(listener).send(HELLO);
      const host = await testServer.service.host();
      await host.receives(1);
      // More than twice the time in which silence is detected.
      await new Promise((resolve) => setTimeout(resolve, 300));
      host.stream.send({ kind: "drain" });
      assert.deepEqual(await listener.receives(1), [{ kind: "drain" }]);
    });
  }

  it("a dead connection is detected in about five seconds by default", () => {
    assert.equal(CONTROL_LIMITS.tickMs * CONTROL_LIMITS.silentTicks, 5_000);
  });

  it("a peer that connects and sends nothing counts as dead", async (t) => {
    const testServer = await openTestServer(t, { limits: quick });
    const socket = connect(testServer.port, "127.0.0.1");
    socket.on("error", () => {}).resume();
    await new Promise((resolve) => socket.once("close", resolve));
  });
});

describe("connection without streams", () => {
  it("a connection without streams is closed after a while, and opened again for the next request", async (t) => {
    const testServer = await openTestServer(t, { limits: { tickMs: 10, idleTicks: 3 } });
    const between = await openProxy(t, testServer.port);
    const client = openClient(t, between);
    await client.admin({ kind: "cluster" });
    await until(() => between.open() === 0);
    await client.admin({ kind: "cluster" });
  });
});
