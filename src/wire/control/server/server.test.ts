import assert from "node:assert/strict";
import { execFile as execFileWithCallback } from "node:child_process";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import fc from "fast-check";
import { LimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import type { SchedulerList } from "../../../ports/cluster/control-service.ts";
import type { PlacementOrder, SchedulerMessage, TypeTable } from "../../../ports/control-messages.ts";
import type { ClusterView } from "../../../ports/host-admin.ts";
import { silentLog } from "../../../ports/log.ts";
import { silentMeter } from "../../../ports/meter.ts";
import { controlClient } from "../client/client.ts";
import { clusterView, hostMessage, schedulerMessage, stickyPage, stickyQuery } from "../codec/arbitraries.test.ts";
import {
  EMPTY_VIEW,
  FakeScheduler,
  HELLO,
  hasCode,
  openClient,
  openHost,
  openProxy,
  openTestServer,
  rememberingLog,
  TestListener,
  until,
} from "../control-kit.test.ts";
import { openControlServer } from "./server.ts";

const execFile = promisify(execFileWithCallback);

/** Records the received lists. */
class Watcher {
  readonly lists: SchedulerList[] = [];
  readonly #ended = Promise.withResolvers<LimpetError | undefined>();
  readonly ended = this.#ended.promise;

  list(list: SchedulerList): void {
    this.lists.push(list);
  }

  closed(error: LimpetError | undefined): void {
    this.#ended.resolve(error);
  }
}

describe("host stream", () => {
  it("a stream carries any message in both directions, in order", async (t) => {
    const { stream, host, ear: listener } = await openHost(t);
    assert.deepEqual(host.received, [HELLO]);
    const sent = fc.sample(hostMessage, 200).filter(({ kind }) => kind !== "hello");
    for (const message of sent) stream.send(message);
    assert.deepEqual(await host.receives(sent.length + 1), [HELLO, ...sent]);

    const answers = fc.sample(schedulerMessage, 200);
    for (const message of answers) host.stream.send(message);
    assert.deepEqual(await listener.receives(answers.length), answers);
  });

  it("a stream carries an order with the tables of many types as one message", async (t) => {
    const { host, ear: listener } = await openHost(t);
    const hosts = Array.from({ length: 500 }, (_, i) => ({
      address: `10.0.${i >> 8}.${i & 255}:7400`,
      incarnation: `i-${i}`,
      name: "web",
    })).sort((a, b) => (a.address < b.address ? -1 : 1));
    const tables = Array.from(
      { length: 200 },
      (_, i): TypeTable => ({
        type: `T${String(i).padStart(3, "0")}`,
        version: { term: 1, number: i },
        base: undefined,
        hosts,
      }),
    );
    const order: PlacementOrder = {
      kind: "order",
      operation: "update",
      namespace: "default",
      term: 1,
      round: 0,
      types: [],
      tables,
      replicationFactor: 100,
    };
    host.stream.send(order);
    host.stream.send({ kind: "drain" });
    assert.deepEqual(await listener.receives(2), [order, { kind: "drain" }]);
  });

  it("a stream knows the address of the host", async (t) => {
    const { host } = await openHost(t);
    assert.deepEqual(host.peer, { address: "127.0.0.1", sameMachine: true });
  });

  it("a stream ends for both sides when the host closes it, after all sent messages", async (t) => {
    const { stream, host, ear: listener } = await openHost(t);
    stream.send({ kind: "goodbye" });
    stream.close();
    assert.equal(await host.ended, undefined);
    assert.equal(await listener.ended, undefined);
    assert.deepEqual(host.received.at(-1), { kind: "goodbye" });
  });

  it("the scheduler receives the error with which the host closed the stream", async (t) => {
    const { stream, host, ear: listener } = await openHost(t);
    stream.close(new LimpetError("LEASE_LOST", "the lease ran out"));
    assert.ok(hasCode("LEASE_LOST", /^the lease ran out$/)(await host.ended));
    assert.equal(await listener.ended, undefined);
  });

  it("a stream ends for both sides when the scheduler closes it, after all sent messages", async (t) => {
    const { host, ear: listener } = await openHost(t);
    host.stream.send({ kind: "removed", reason: "it was gone for too long" });
    host.stream.close();
    assert.equal(await listener.ended, undefined);
    assert.deepEqual(listener.received, [{ kind: "removed", reason: "it was gone for too long" }]);
    assert.equal(await host.ended, undefined);
  });

  it("the host receives the error with which the scheduler closed the stream", async (t) => {
    const { host, ear: listener } = await openHost(t);
    const message = "not any more: „ü“ leads\n— ask there";
    host.stream.close(new LimpetError("NOT_LEADER", message));
    const error = await listener.ended;
    assert.ok(error instanceof LimpetError);
    assert.equal(error.code, "NOT_LEADER");
    assert.equal(error.retry, "elsewhere");
    assert.equal(error.message, message);
  });

  it("a follower can reject a stream at once", async (t) => {
    const service = new FakeScheduler();
    service.onHost = ({ stream }) => stream.close({ code: "NOT_LEADER", message: "10.0.0.9:7400 leads" });
    const client = openClient(t, await openTestServer(t, { service }));
    const listener = new TestListener<SchedulerMessage>();
    client.report(listener).send(HELLO);
    assert.ok(hasCode("NOT_LEADER", /^10.0.0.9:7400 leads$/)(await listener.ended));
    assert.equal(service.hosts[0]!.received.length, 0);
    assert.equal(await service.hosts[0]!.ended, undefined);
  });

  it("a stream that is closed repeatedly ends once, and later messages are dropped", async (t) => {
    const { stream, host, ear: listener } = await openHost(t);
    host.stream.close();
    host.stream.close(new LimpetError("NOT_LEADER", "too late"));
    host.stream.send({ kind: "drain" });
    stream.close();
    stream.send({ kind: "goodbye" });
    assert.equal(await listener.ended, undefined);
    await host.ended;
    assert.deepEqual([listener.ends, host.ends, listener.received.length, host.received.length], [1, 1, 0, 1]);
  });

  for (const how of ["cut", "hangUp"] as const) {
    for (const welcomed of [false, true]) {
      it(`both sides get an error when the connection is lost: ${how}, ${welcomed ? "after" : "before"} a reply`, async (t) => {
        const testServer = await openTestServer(t);
        const between = await openProxy(t, testServer.port);
        const listener = new TestListener<SchedulerMessage>();
        openClient(t, between).report(listener).send(HELLO);
        const host = await testServer.service.host();
        await host.receives(1);
        if (welcomed) host.stream.send({ kind: "welcome", term: 1, leaseMs: 1 });
        if (welcomed) await listener.receives(1);
        between[how]();
        assert.ok(hasCode("UNREACHABLE", /127.0.0.1:\d+ was lost/)(await listener.ended), String(listener.error));
        assert.ok(hasCode("UNREACHABLE", /127.0.0.1 was lost/)(await host.ended), String(host.error));
      });
    }
  }

  it("a stream survives a listener that throws", async (t) => {
    const { log, lines } = rememberingLog();
    const { testServer, host, ear: listener, stream, service } = await openHost(t, { deps: { log } });
    host.message = () => {
      throw new TypeError("a bug");
    };
    stream.send({ kind: "types", types: [] });
    assert.ok(hasCode("INVARIANT", /see its log/)(await listener.ended));
    assert.ok(hasCode("INVARIANT")(await host.ended));
    assert.ok(lines.some(({ level, event }) => level === "error" && event === "control.failed"));
    const next = new TestListener<SchedulerMessage>();
    openClient(t, testServer).report(next).send(HELLO);
    await (await service.host(1)).receives(1);
  });

  it("a control server serves two hundred hosts at once", async (t) => {
    // All of them share one processor with the scheduler here.
    const patient = { limits: { connectMs: 60_000, firstMessageMs: 60_000 } };
    const testServer = await openTestServer(t, patient);
    testServer.service.onHost = (host) => {
      host.message = (message) => {
        if (message.kind === "renew") host.stream.send({ kind: "renewed", sequence: message.sequence });
      };
    };
    const listeners = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const listener = new TestListener<SchedulerMessage>();
        const stream = openClient(t, testServer, patient).report(listener);
        stream.send({ ...HELLO, incarnation: `i-${i}` });
        stream.send({ kind: "renew", sequence: i, actors: 0 });
        await listener.receives(1);
        return listener;
      }),
    );
    assert.deepEqual(
      listeners.map(({ received, error }) => error ?? received[0]),
      listeners.map((_, i) => ({ kind: "renewed", sequence: i })),
    );
  });
});

describe("watch of the schedulers", () => {
  it("a watcher receives the list at once, and every change", async (t) => {
    const testServer = await openTestServer(t);
    const watcher = new Watcher();
    openClient(t, testServer).watch(watcher);
    await until(() => watcher.lists.length === 1);
    const host = { address: "10.0.0.1:7400", leader: true, dedicated: true, incarnation: "s-1" };
    testServer.service.publish({ term: 2, hosts: [host] });
    await until(() => watcher.lists.length === 2);
    testServer.service.publish({ term: 3, hosts: [{ ...host, leader: false }] });
    await until(() => watcher.lists.length === 3);
    assert.deepEqual(watcher.lists, [
      { term: 1, hosts: [] },
      { term: 2, hosts: [host] },
      { term: 3, hosts: [{ ...host, leader: false }] },
    ]);
  });

  it("a watch ends when it is stopped, and the scheduler forgets the watcher", async (t) => {
    const testServer = await openTestServer(t);
    const watcher = new Watcher();
    const stop = openClient(t, testServer).watch(watcher);
    await until(() => watcher.lists.length === 1);
    stop();
    assert.equal(await watcher.ended, undefined);
    await until(() => testServer.service.watchers.size === 0);
  });

  it("a slow watcher skips outdated lists and receives the newest", async (t) => {
    const testServer = await openTestServer(t);
    const watcher = new Watcher();
    openClient(t, testServer).watch(watcher);
    await until(() => watcher.lists.length === 1);
    for (let term = 2; term <= 10_000; term++) testServer.service.publish({ term, hosts: [] });
    await until(() => watcher.lists.at(-1)?.term === 10_000);
    assert.ok(watcher.lists.length < 100, `it heard ${watcher.lists.length}`);
  });

  it("a watch continues for a watcher that throws", async (t) => {
    const testServer = await openTestServer(t);
    const terms: number[] = [];
    const list = ({ term }: SchedulerList) => {
      terms.push(term);
      throw new TypeError("a bug");
    };
    openClient(t, testServer).watch({ list, closed: () => {} });
    await until(() => terms.length === 1);
    testServer.service.publish({ term: 2, hosts: [] });
    await until(() => terms.length === 2);
  });
});

describe("operator requests", () => {
  it("a cluster view of any content is answered unchanged", async (t) => {
    const testServer = await openTestServer(t);
    const client = openClient(t, testServer);
    for (const view of fc.sample(clusterView, 50)) {
      testServer.service.view = async () => view;
      assert.deepEqual(await client.admin({ kind: "cluster" }), view);
    }
  });

  it("the answer to a request may be larger than a message of a stream", async (t) => {
    const testServer = await openTestServer(t, { limits: { messageBytes: 1_000 } });
    const host = {
      namespace: "default",
      address: "10.0.0.1:1",
      name: "web",
      incarnation: "i",
      state: "member" as const,
      leaseLeftMs: 1,
      types: [],
      actors: 0,
    };
    const view: ClusterView = { ...EMPTY_VIEW, hosts: Array.from({ length: 1_000 }, () => host) };
    testServer.service.view = async () => view;
    assert.deepEqual(await openClient(t, testServer).admin({ kind: "cluster" }), view);
  });

  it("a drain request passes on the host", async (t) => {
    const testServer = await openTestServer(t);
    await openClient(t, testServer).admin({ kind: "drain", host: "web-1" });
    assert.deepEqual(testServer.service.drained, ["web-1"]);
  });

  it("a request for sticky actors passes on the query, and is answered with any page", async (t) => {
    const testServer = await openTestServer(t);
    const client = openClient(t, testServer);
    const queries = fc.sample(stickyQuery, 50);
    for (const [i, page] of fc.sample(stickyPage, 50).entries()) {
      testServer.service.page = async () => page;
      assert.deepEqual(await client.admin({ kind: "sticky", namespace: "shop", query: queries[i]! }), page);
    }
    assert.deepEqual(
      testServer.service.asked,
      queries.map((query) => ["shop", query]),
    );
  });

  it("a request for more rows than a page holds gets a full page", async (t) => {
    const testServer = await openTestServer(t);
    const actor = { type: "Cart", address: "10.0.0.1:7400", name: "n".repeat(LIMITS.idBytes), since: 1, away: false };
    testServer.service.page = async () => ({
      actors: Array.from({ length: LIMITS.listPage }, (_, i) => ({
        ...actor,
        id: `${i}`.padStart(LIMITS.idBytes, "i"),
      })),
      next: { type: "Cart", id: "999" },
    });
    const page = await openClient(t, testServer).admin({
      kind: "sticky",
      namespace: "shop",
      query: { limit: 1_000_000 },
    });
    assert.deepEqual(page, await testServer.service.page());
    assert.equal(testServer.service.asked[0]![1].limit, LIMITS.listPage);
  });

  it("a release request passes on the sticky actor", async (t) => {
    const testServer = await openTestServer(t);
    await openClient(t, testServer).admin({ kind: "release", namespace: "shop", type: "Cart", id: "ü 7" });
    assert.deepEqual(testServer.service.released, [["shop", "Cart", "ü 7"]]);
  });

  it("a request about sticky actors fails with the error of the scheduler", async (t) => {
    const testServer = await openTestServer(t);
    const client = openClient(t, testServer);
    testServer.service.onRelease = async () => {
      throw new LimpetError("NOT_STICKY", "nobody holds Cart 7");
    };
    await assert.rejects(client.admin({ kind: "release", namespace: "shop", type: "Cart", id: "7" }), (error) => {
      assert.ok(hasCode("NOT_STICKY", /^nobody holds Cart 7$/)(error), String(error));
      assert.deepEqual([(error as LimpetError).retry, (error as LimpetError).status], ["never", 404]);
      return true;
    });
    testServer.service.page = async () => {
      throw new LimpetError("NOT_LEADER", "10.0.0.9:7400 leads");
    };
    await assert.rejects(
      client.admin({ kind: "sticky", namespace: "shop", query: { limit: 1 } }),
      hasCode("NOT_LEADER", /^10.0.0.9:7400 leads$/),
    );
    const asked = [testServer.service.asked.length, testServer.service.released.length];
    await assert.rejects(
      client.admin({ kind: "release", namespace: "shop", type: "Cart", id: "" }),
      hasCode("PROTOCOL", /actor id must not be empty/),
    );
    await assert.rejects(
      client.admin({ kind: "release", namespace: "a/b", type: "Cart", id: "7" }),
      hasCode("PROTOCOL", /namespace must not contain/),
    );
    await assert.rejects(
      client.admin({ kind: "sticky", namespace: "shop", query: { id: "7", limit: 1 } }),
      hasCode("PROTOCOL", /must name its type/),
    );
    await assert.rejects(
      client.admin({ kind: "sticky", namespace: "shop", query: { limit: 0 } }),
      hasCode("PROTOCOL", /must be at least 1/),
    );
    assert.deepEqual([testServer.service.asked.length, testServer.service.released.length], asked);
  });

  it("a request fails with the error of the scheduler", async (t) => {
    const testServer = await openTestServer(t);
    const client = openClient(t, testServer);
    testServer.service.onDrain = async () => {
      throw new LimpetError("HOST_UNKNOWN", "there is no host web-1");
    };
    await assert.rejects(
      client.admin({ kind: "drain", host: "web-1" }),
      hasCode("HOST_UNKNOWN", /^there is no host web-1$/),
    );
    testServer.service.view = async () => {
      throw new LimpetError("NOT_LEADER", "10.0.0.9:7400 leads");
    };
    await assert.rejects(client.admin({ kind: "cluster" }), hasCode("NOT_LEADER", /^10.0.0.9:7400 leads$/));
    await assert.rejects(
      client.admin({ kind: "drain", host: "" }),
      hasCode("PROTOCOL", /the host to drain is missing/),
    );
  });

  it("a request that meets a bug learns only that there is one", async (t) => {
    const { log, lines } = rememberingLog();
    const testServer = await openTestServer(t, { deps: { log } });
    testServer.service.view = async () => {
      throw new TypeError("secret");
    };
    await assert.rejects(openClient(t, testServer).admin({ kind: "cluster" }), hasCode("INVARIANT", /see its log/));
    const failed = lines.filter(({ event }) => event === "control.failed");
    assert.deepEqual(
      failed.map(({ fields }) => (fields.err as Error).message),
      ["secret"],
    );
  });

  it("a request without an answer times out", async (t) => {
    const testServer = await openTestServer(t);
    testServer.service.view = () => new Promise(() => {});
    testServer.service.onDrain = () => new Promise(() => {});
    testServer.service.page = () => new Promise(() => {});
    testServer.service.onRelease = () => new Promise(() => {});
    const client = openClient(t, testServer, { limits: { answerMs: 50 } });
    await assert.rejects(client.admin({ kind: "cluster" }), hasCode("UNREACHABLE"));
    await assert.rejects(client.admin({ kind: "drain", host: "web-1" }), hasCode("ANSWER_LOST"));
    await assert.rejects(
      client.admin({ kind: "sticky", namespace: "shop", query: { limit: 1 } }),
      hasCode("UNREACHABLE"),
    );
    await assert.rejects(
      client.admin({ kind: "release", namespace: "shop", type: "Cart", id: "7" }),
      hasCode("ANSWER_LOST"),
    );
  });
});

describe("end of control server and client", () => {
  it("a closing control server notifies every stream that the scheduler is stopping", async (t) => {
    const { testServer, ear: listener, host, client, service } = await openHost(t);
    const watcher = new Watcher();
    client.watch(watcher);
    await until(() => watcher.lists.length === 1);
    await testServer.close();
    assert.ok(hasCode("STOPPING")(await listener.ended));
    assert.ok(hasCode("STOPPING")(await watcher.ended));
    await host.ended;
    assert.equal(service.watchers.size, 0);
    await assert.rejects(client.admin({ kind: "cluster" }), hasCode("UNREACHABLE"));
  });

  it("a closing control server does not wait for a request that is never answered", async (t) => {
    const testServer = await openTestServer(t, { limits: { lingerMs: 20 } });
    const asked = Promise.withResolvers<void>();
    testServer.service.onDrain = () => {
      asked.resolve();
      return new Promise(() => {});
    };
    const drained = assert.rejects(
      openClient(t, testServer).admin({ kind: "drain", host: "web-1" }),
      hasCode("ANSWER_LOST"),
    );
    await asked.promise;
    await testServer.close();
    await drained;
  });

  it("a closing client ends its streams in good order, and later requests fail", async (t) => {
    const { client, stream, ear: listener, host, service } = await openHost(t);
    const watcher = new Watcher();
    client.watch(watcher);
    await until(() => watcher.lists.length === 1);
    stream.send({ kind: "goodbye" });
    await client.close();
    assert.equal(await listener.ended, undefined);
    assert.equal(await watcher.ended, undefined);
    assert.equal(await host.ended, undefined);
    assert.deepEqual(host.received.at(-1), { kind: "goodbye" });
    await until(() => service.watchers.size === 0);
    await assert.rejects(client.admin({ kind: "cluster" }), hasCode("STOPPING"));
    const late = new TestListener<SchedulerMessage>();
    client.report(late);
    assert.ok(hasCode("STOPPING")(await late.ended));
  });

  it("a closing client ends the requests in progress", async (t) => {
    const testServer = await openTestServer(t);
    const asked = Promise.withResolvers<void>();
    testServer.service.view = () => {
      asked.resolve();
      return new Promise(() => {});
    };
    const client = openClient(t, testServer);
    testServer.service.onDrain = () => new Promise(() => {});
    const described = assert.rejects(client.admin({ kind: "cluster" }), hasCode("STOPPING"));
    const drained = assert.rejects(client.admin({ kind: "drain", host: "web-1" }), hasCode("ANSWER_LOST"));
    await asked.promise;
    await until(() => testServer.service.drained.length === 1);
    await client.close();
    await Promise.all([described, drained]);
  });

  it("a closing client does not wait for a scheduler that keeps the stream open", async (t) => {
    const { client, host } = await openHost(t, { limits: { lingerMs: 20 } });
    // The scheduler never closes its end, because it is busy.
    host.stream.close = () => {};
    await client.close();
    await host.ended;
  });
});

describe("process life after the end of both sides", () => {
  it("a closed client and server do not keep the process alive", async () => {
    const program = `
      import { controlClient } from "../client/client.ts";
      import { openControlServer } from "./server.ts";
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      const none = { add() {}, set() {}, observe() {} };
      const meter = { counter: () => none, gauge: () => none, histogram: () => none };
      const security = { keys: ["a key of a cluster"] };
      const heard = Promise.withResolvers();
      const service = {
        report: (stream) => ({ message: () => stream.send({ kind: "drain" }), closed() {} }),
        watch: (listener) => (listener({ term: 1, hosts: [] }), () => {}),
        admin: () => new Promise(() => {}),
      };
      const door = await openControlServer(service, { host: "127.0.0.1", port: 0, security }, { log, meter });
      const client = controlClient({ address: door.address, security, log });
      client.watch({ list() {}, closed() {} });
      client.admin({ kind: "cluster" }).catch(() => {});
      const hello = { kind: "hello", namespace: "d", incarnation: "i", address: door.address, name: "", types: [] };
      const stream = client.report({ message: heard.resolve, closed() {} });
      stream.send({ ...hello, unlocked: new Map(), machine: "m", pid: 1 });
      await heard.promise;
      await client.close();
      await door.close();
      console.log("closed");
    `;
    const args = ["--conditions=limpet-source", "--input-type=module-typescript", "--eval", program];
    const { stdout, stderr } = await execFile(process.execPath, args, { cwd: import.meta.dirname });
    assert.deepEqual([stdout.trim(), stderr], ["closed", ""]);
  });
});

describe("control client", () => {
  it("a client reconnects when the scheduler is back", async (t) => {
    const first = await openHost(t);
    await first.testServer.close();
    await first.ear.ended;
    const again = await openTestServer(t, { port: first.testServer.port });
    assert.deepEqual(await first.client.admin({ kind: "cluster" }), EMPTY_VIEW);
    const listener = new TestListener<SchedulerMessage>();
    first.client.report(listener).send(HELLO);
    await (await again.service.host()).receives(1);
  });

  it("a client reports an address without a listener", async (t) => {
    const testServer = await openTestServer(t);
    await testServer.close();
    const client = openClient(t, testServer);
    await assert.rejects(client.admin({ kind: "cluster" }), hasCode("UNREACHABLE", /cannot be reached: ECONNREFUSED/));
    await assert.rejects(client.admin({ kind: "drain", host: "web-1" }), hasCode("UNREACHABLE"));
    const listener = new TestListener<SchedulerMessage>();
    client.report(listener).send(HELLO);
    assert.ok(hasCode("UNREACHABLE", /ECONNREFUSED/)(await listener.ended));
  });

  it("a client rejects an invalid address", () => {
    const options = { security: { keys: [] }, log: rememberingLog().log };
    for (const address of ["", "10.0.0.1", "http://10.0.0.1:1", "a b:1", "10.0.0.1:0", "[fe80::1%eth0]:1"]) {
      assert.throws(() => controlClient({ address, ...options }), hasCode("OPTION_INVALID"), address);
    }
  });
});

describe("control server address", () => {
  it("a control server reports that its port is in use", async (t) => {
    const testServer = await openTestServer(t);
    await assert.rejects(openTestServer(t, { port: testServer.port }), hasCode("ADDRESS_IN_USE", /stop the process/));
  });

  it("a control server reports that an address does not belong to this machine", async () => {
    const listen = { host: "192.0.2.1", port: 0, security: { keys: [] } };
    const opening = openControlServer(new FakeScheduler(), listen, { log: silentLog, meter: silentMeter });
    await assert.rejects(opening, hasCode("OPTION_INVALID", /not an address of this machine/));
  });
});
