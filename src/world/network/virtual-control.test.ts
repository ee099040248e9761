// Control streams behave the same in a virtual world and over the real wire: the first part runs against
// both.
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import { LimpetError } from "../../kernel/errors.ts";
import { Prng } from "../../kernel/prng.ts";
import type { SchedulerList } from "../../ports/cluster/control-service.ts";
import type { SchedulerMessage } from "../../ports/control-messages.ts";
import type { SchedulerClient } from "../../wire/control/client/watched-schedulers.ts";
import {
  clusterView,
  hostMessage,
  schedulerMessage,
  stickyPage,
  stickyQuery,
} from "../../wire/control/codec/arbitraries.test.ts";
import {
  FakeScheduler,
  HELLO,
  hasCode,
  openClient,
  openTestServer,
  type ServedHost,
  TestListener,
  until,
} from "../../wire/control/control-kit.test.ts";
import { CONTROL_LIMITS } from "../../wire/control/limits.ts";
import { Timeline } from "../timeline.ts";
import { Dummy, SelfRunning } from "../world-kit.test.ts";
import { addressOf, Network } from "./network.ts";
import { VirtualControlServer, VirtualScheduler } from "./virtual-control.ts";

class Watcher {
  readonly lists: SchedulerList[] = [];
  readonly endings: (LimpetError | undefined)[] = [];

  list(list: SchedulerList): void {
    this.lists.push(list);
  }

  closed(error: LimpetError | undefined): void {
    this.endings.push(error);
  }
}

type Client = Pick<SchedulerClient, "report" | "watch" | "admin"> & {
  close(): unknown;
};

/** A client and a scheduler behind a server. */
interface Both {
  readonly service: FakeScheduler;
  readonly client: Client;
  shut(): Promise<void>;
  reopen(): Promise<FakeScheduler>;
}

async function openReal(t: TestContext, service = new FakeScheduler()): Promise<Both> {
  const testServer = await openTestServer(t, { service });
  const client = openClient(t, testServer);
  const reopen = async (): Promise<FakeScheduler> => (await openTestServer(t, { port: testServer.port })).service;
  return { service, client, shut: () => testServer.close(), reopen };
}

async function openVirtual(t: TestContext, service = new FakeScheduler()): Promise<Both> {
  const timeline = new SelfRunning();
  const network = new Network(timeline, new Prng("control"));
  const address = addressOf(2, 7_400);
  const testServer = new VirtualControlServer(address, service, network, new Dummy(2));
  const client = new VirtualScheduler(address, 1, network, new Dummy(1));
  t.after(() => assert.equal(timeline.failure, undefined));
  const reopen = async (): Promise<FakeScheduler> => {
    const next = new FakeScheduler();
    new VirtualControlServer(address, next, network, new Dummy(2, 3));
    return next;
  };
  return { service, client, shut: () => testServer.close(), reopen };
}

for (const [name, open] of [
  ["real", openReal],
  ["virtual", openVirtual],
] as const) {
  /** A host that has sent its hello, and the scheduler's end of its stream. */
  const openHost = async (t: TestContext) => {
    const both = await open(t);
    const listener = new TestListener<SchedulerMessage>();
    const stream = both.client.report(listener);
    stream.send(HELLO);
    const host: ServedHost = await both.service.host();
    await host.receives(1);
    return { ...both, ear: listener, stream, host };
  };

  describe(`a host's stream to a ${name} scheduler`, () => {
    test("a host's stream delivers any message in both directions, in order", async (t) => {
      const { stream, host, ear: listener } = await openHost(t);
      const sent = fc.sample(hostMessage, 200).filter(({ kind }) => kind !== "hello");
      for (const message of sent) stream.send(message);
      assert.deepEqual(await host.receives(sent.length + 1), [HELLO, ...sent]);
      const answers = fc.sample(schedulerMessage, 200);
      for (const message of answers) host.stream.send(message);
      assert.deepEqual(await listener.receives(answers.length), answers);
    });

    test("a stream that the host closes ends for both sides after all earlier messages", async (t) => {
      const { stream, host, ear: listener } = await openHost(t);
      stream.send({ kind: "goodbye" });
      stream.close();
      assert.equal(await host.ended, undefined);
      assert.equal(await listener.ended, undefined);
      assert.deepEqual(host.received.at(-1), { kind: "goodbye" });
    });

    test("the scheduler gets the error with which the host closed the stream", async (t) => {
      const { stream, host, ear: listener } = await openHost(t);
      stream.close(new LimpetError("LEASE_LOST", "the lease ran out"));
      assert.ok(hasCode("LEASE_LOST", /^the lease ran out$/)(await host.ended));
      assert.equal(await listener.ended, undefined);
    });

    test("a stream that the scheduler closes ends for both sides after all earlier messages", async (t) => {
      const { host, ear: listener } = await openHost(t);
      host.stream.send({ kind: "removed", reason: "it was gone for too long" });
      host.stream.close();
      assert.equal(await listener.ended, undefined);
      assert.deepEqual(listener.received, [{ kind: "removed", reason: "it was gone for too long" }]);
      assert.equal(await host.ended, undefined);
    });

    test("the host gets the error with which the scheduler closed the stream", async (t) => {
      const { host, ear: listener } = await openHost(t);
      host.stream.close(new LimpetError("NOT_LEADER", "not any more: „ü“ leads"));
      const error = await listener.ended;
      assert.ok(hasCode("NOT_LEADER", /^not any more: „ü“ leads$/)(error));
      assert.equal(error?.retry, "elsewhere");
      assert.equal(await host.ended, undefined);
    });

    test("a follower can reject a stream at once", async (t) => {
      const service = new FakeScheduler();
      service.onHost = ({ stream }) => stream.close({ code: "NOT_LEADER", message: "10.0.0.9:7400 leads" });
      const { client } = await open(t, service);
      const listener = new TestListener<SchedulerMessage>();
      client.report(listener).send(HELLO);
      assert.ok(hasCode("NOT_LEADER", /^10.0.0.9:7400 leads$/)(await listener.ended));
      assert.equal(service.hosts[0]!.received.length, 0);
      assert.equal(await service.hosts[0]!.ended, undefined);
    });

    test("the end of a stream is delivered after the current work of each side", async (t) => {
      const { stream, host, ear: listener } = await openHost(t);
      host.stream.close();
      assert.equal(host.ends, 0);
      await listener.ended;
      const other = await openHost(t);
      other.stream.close();
      assert.equal(other.ear.ends, 0);
      stream.close();
    });

    test("a stream ends once, however often it is closed, and drops later messages", async (t) => {
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

    test("a stream cannot be opened without a listener", async (t) => {
      const { client, shut } = await open(t);
      await shut();
      const listener = new TestListener<SchedulerMessage>();
      client.report(listener).send(HELLO);
      assert.ok(hasCode("UNREACHABLE")(await listener.ended));
      await assert.rejects(client.admin({ kind: "cluster" }), hasCode("UNREACHABLE"));
      await assert.rejects(client.admin({ kind: "drain", host: "web-1" }), hasCode("UNREACHABLE"));
      await assert.rejects(
        client.admin({ kind: "sticky", namespace: "shop", query: { limit: 1 } }),
        hasCode("UNREACHABLE"),
      );
      await assert.rejects(
        client.admin({ kind: "release", namespace: "shop", type: "Cart", id: "7" }),
        hasCode("UNREACHABLE"),
      );
    });
  });

  describe(`the watch of a ${name} scheduler`, () => {
    test("a watch delivers the list at once, and every change", async (t) => {
      const { client, service } = await open(t);
      const watcher = new Watcher();
      client.watch(watcher);
      const host = { address: "10.0.0.1:7400", leader: true, dedicated: true, incarnation: "s-1" };
      await until(() => watcher.lists.length === 1);
      service.publish({ term: 2, hosts: [host] });
      await until(() => watcher.lists.length === 2);
      service.publish({ term: 3, hosts: [{ ...host, leader: false }] });
      await until(() => watcher.lists.length === 3);
      assert.deepEqual(watcher.lists, [
        { term: 1, hosts: [] },
        { term: 2, hosts: [host] },
        { term: 3, hosts: [{ ...host, leader: false }] },
      ]);
    });

    test("a watch ends when it is stopped, and the scheduler drops the watcher", async (t) => {
      const { client, service } = await open(t);
      const watcher = new Watcher();
      const stop = client.watch(watcher);
      await until(() => watcher.lists.length === 1);
      stop();
      stop();
      await until(() => watcher.endings.length > 0 && service.watchers.size === 0);
      assert.deepEqual(watcher.endings, [undefined]);
    });
  });

  describe(`a request to a ${name} scheduler`, () => {
    test("a request is answered with any view of the cluster", async (t) => {
      const { client, service } = await open(t);
      for (const view of fc.sample(clusterView, 20)) {
        service.view = async () => view;
        assert.deepEqual(await client.admin({ kind: "cluster" }), view);
      }
    });

    test("a drain request names its host", async (t) => {
      const { client, service } = await open(t);
      await client.admin({ kind: "drain", host: "web-1" });
      assert.deepEqual(service.drained, ["web-1"]);
    });

    test("a listing request names its sticky actors, and is answered with any page of them", async (t) => {
      const { client, service } = await open(t);
      const queries = fc.sample(stickyQuery, 20);
      for (const [i, page] of fc.sample(stickyPage, 20).entries()) {
        service.page = async () => page;
        assert.deepEqual(await client.admin({ kind: "sticky", namespace: "shop", query: queries[i]! }), page);
      }
      assert.deepEqual(
        service.asked,
        queries.map((query) => ["shop", query]),
      );
    });

    test("a release request names its sticky actor", async (t) => {
      const { client, service } = await open(t);
      await client.admin({ kind: "release", namespace: "shop", type: "Cart", id: "7" });
      assert.deepEqual(service.released, [["shop", "Cart", "7"]]);
    });

    test("a request fails with the error of the scheduler", async (t) => {
      const { client, service } = await open(t);
      service.onDrain = async () => {
        throw new LimpetError("HOST_UNKNOWN", "there is no host web-1");
      };
      await assert.rejects(
        client.admin({ kind: "drain", host: "web-1" }),
        hasCode("HOST_UNKNOWN", /^there is no host web-1$/),
      );
      const notLeading = async (): Promise<never> => {
        throw new LimpetError("NOT_LEADER", "10.0.0.9:7400 leads");
      };
      service.view = notLeading;
      await assert.rejects(client.admin({ kind: "cluster" }), hasCode("NOT_LEADER", /^10.0.0.9:7400 leads$/));
      service.page = notLeading;
      await assert.rejects(
        client.admin({ kind: "sticky", namespace: "shop", query: { limit: 1 } }),
        hasCode("NOT_LEADER", /^10.0.0.9:7400 leads$/),
      );
      service.onRelease = async () => {
        throw new LimpetError("NOT_STICKY", "nobody holds Cart 7");
      };
      await assert.rejects(
        client.admin({ kind: "release", namespace: "shop", type: "Cart", id: "7" }),
        hasCode("NOT_STICKY", /^nobody holds Cart 7$/),
      );
    });
  });

  describe(`a client of a ${name} scheduler`, () => {
    test("a client that is closed ends its streams in order", async (t) => {
      const { client, stream, ear: listener, host, service } = await openHost(t);
      const watcher = new Watcher();
      client.watch(watcher);
      await until(() => watcher.lists.length === 1);
      stream.send({ kind: "goodbye" });
      client.close();
      assert.equal(await listener.ended, undefined);
      assert.equal(await host.ended, undefined);
      await until(() => watcher.endings.length === 1 && service.watchers.size === 0);
      assert.deepEqual([watcher.endings, host.received.at(-1)], [[undefined], { kind: "goodbye" }]);
    });

    test("a client reconnects when the scheduler is back", async (t) => {
      const first = await openHost(t);
      await first.shut();
      await first.ear.ended;
      const again = await first.reopen();
      const listener = new TestListener<SchedulerMessage>();
      first.client.report(listener).send(HELLO);
      assert.deepEqual(await (await again.host()).receives(1), [HELLO]);
    });
  });
}

// ——— In the virtual world alone, where all times are known.

class World {
  readonly timeline = new Timeline();
  readonly network = new Network(this.timeline, new Prng(1));
  readonly host = new Dummy(1);
  readonly scheduler = new Dummy(2);
  readonly service = new FakeScheduler();
  readonly client: VirtualScheduler;
  readonly testServer: VirtualControlServer;

  constructor() {
    const address = addressOf(2, 7_400);
    this.testServer = new VirtualControlServer(address, this.service, this.network, this.scheduler);
    this.client = new VirtualScheduler(address, 1, this.network, this.host);
  }

  pass(ms: number): Promise<void> {
    return this.timeline.run(this.timeline.now + ms);
  }

  async reported() {
    const listener = new TestListener<SchedulerMessage>();
    const stream = this.client.report(listener);
    stream.send(HELLO);
    await this.pass(100);
    return { ear: listener, stream, served: this.service.hosts.at(-1)! };
  }
}

const codeOf = ({ ends, error }: { readonly ends: number; readonly error: Error | undefined }): unknown =>
  ends === 0 ? "open" : (error as LimpetError | undefined)?.code;

describe("a virtual stream under faults", () => {
  test("the end of a process is an error for the other side of its stream", async () => {
    for (const who of ["host", "scheduler"] as const) {
      const world = new World();
      const { ear: listener, served } = await world.reported();
      const watcher = new Watcher();
      world.client.watch(watcher);
      await world.pass(100);
      world[who].hasEnded = true;
      world.network.stationGone(world[who], true);
      await world.pass(100);
      const expected = who === "host" ? ["open", "UNREACHABLE", 0] : ["UNREACHABLE", "open", 1];
      assert.deepEqual([codeOf(listener), codeOf(served), watcher.endings.length], expected);
      if (who === "host") assert.equal(world.service.watchers.size, 0);
      else assert.ok(hasCode("UNREACHABLE")(watcher.endings[0]));
    }
  });

  test("a broken stream is detected by both ends, in about five seconds", async () => {
    const world = new World();
    const { ear: listener, served } = await world.reported();
    world.network.change(1, 2, { isOpen: false });
    world.network.change(2, 1, { isOpen: false });
    await world.pass(CONTROL_LIMITS.tickMs * (CONTROL_LIMITS.silentTicks - 1) - 1);
    assert.deepEqual([listener.ends, served.ends], [0, 0]);
    await world.pass(CONTROL_LIMITS.tickMs * 2);
    assert.deepEqual([codeOf(listener), codeOf(served)], ["UNREACHABLE", "UNREACHABLE"]);
  });

  test("a stream without messages is not suspected", async () => {
    const world = new World();
    const { ear: listener, served } = await world.reported();
    await world.pass(3_600_000);
    served.stream.send({ kind: "drain" });
    await world.pass(100);
    assert.deepEqual([listener.received, listener.ends, served.ends], [[{ kind: "drain" }], 0, 0]);
  });

  test("a stream cannot be opened behind a cut line", async () => {
    const world = new World();
    world.network.change(1, 2, { isOpen: false });
    const listener = new TestListener<SchedulerMessage>();
    world.client.report(listener).send(HELLO);
    const described = assert.rejects(world.client.admin({ kind: "cluster" }), hasCode("UNREACHABLE"));
    await world.pass(CONTROL_LIMITS.connectMs + 1);
    await described;
    assert.equal(codeOf(listener), "UNREACHABLE");
    world.network.heal();
    await world.pass(1_000);
    assert.equal(world.service.hosts.length, 0);
  });

  test("a stream is reset when the other end does not read its messages", async () => {
    const world = new World();
    const { ear: listener, stream, served } = await world.reported();
    world.network.change(2, 1, { isOpen: false });
    for (let i = 0; i <= CONTROL_LIMITS.queue; i++) served.stream.send({ kind: "drain" });
    await world.pass(1);
    assert.equal(codeOf(served), "LINK_FULL");
    stream.send({ kind: "goodbye" });
    world.network.heal();
    await world.pass(100);
    assert.equal(codeOf(listener), "UNREACHABLE");
    assert.equal(served.received.length, 1, "it hears nothing after the end");
  });

  test("a stream leaves no connection behind, whichever side ends it", async () => {
    const world = new World();
    const first = await world.reported();
    first.stream.close();
    const second = await world.reported();
    second.served.stream.close({ code: "NOT_LEADER", message: "" });
    const stop = world.client.watch(new Watcher());
    void world.client.admin({ kind: "cluster" });
    void world.client.admin({ kind: "drain", host: "web-1" });
    void world.client.admin({ kind: "sticky", namespace: "shop", query: { limit: 1 } });
    void world.client.admin({ kind: "release", namespace: "shop", type: "Cart", id: "7" });
    await world.pass(100);
    stop();
    await world.pass(1_000);
    for (const { ends } of [first.ear, first.served, second.ear, second.served]) assert.equal(ends, 1);
    assert.equal(world.network.open, 0);
  });
});

describe("a virtual scheduler, as the real one", () => {
  test("a scheduler that stops ends every stream with a notification, and drops its watchers", async () => {
    const world = new World();
    const { ear: listener, served } = await world.reported();
    const watcher = new Watcher();
    world.client.watch(watcher);
    await world.pass(100);
    void world.testServer.close();
    await world.pass(1_000);
    assert.deepEqual([codeOf(listener), watcher.endings.map((error) => error?.code)], ["STOPPING", ["STOPPING"]]);
    assert.deepEqual([served.ends, world.service.watchers.size, world.network.open], [1, 0, 0]);
  });

  test("a request to a scheduler times out, and its outcome is then unknown", async () => {
    const world = new World();
    world.service.view = () => new Promise(() => {});
    world.service.onDrain = () => new Promise(() => {});
    world.service.page = () => new Promise(() => {});
    world.service.onRelease = () => new Promise(() => {});
    const described = assert.rejects(world.client.admin({ kind: "cluster" }), hasCode("UNREACHABLE"));
    const drained = assert.rejects(world.client.admin({ kind: "drain", host: "web-1" }), hasCode("ANSWER_LOST"));
    const listed = assert.rejects(
      world.client.admin({ kind: "sticky", namespace: "shop", query: { limit: 1 } }),
      hasCode("UNREACHABLE"),
    );
    const released = assert.rejects(
      world.client.admin({ kind: "release", namespace: "shop", type: "Cart", id: "7" }),
      hasCode("ANSWER_LOST"),
    );
    await world.pass(CONTROL_LIMITS.answerMs + 100);
    await Promise.all([described, drained, listed, released]);
  });

  test("a broken connection leaves the outcome of a drain or a release unknown", async () => {
    const world = new World();
    world.service.onDrain = () => new Promise(() => {});
    world.service.onRelease = () => new Promise(() => {});
    const drained = assert.rejects(world.client.admin({ kind: "drain", host: "web-1" }), hasCode("ANSWER_LOST"));
    const released = assert.rejects(
      world.client.admin({ kind: "release", namespace: "shop", type: "Cart", id: "7" }),
      hasCode("ANSWER_LOST"),
    );
    await world.pass(100);
    world.scheduler.hasEnded = true;
    world.network.stationGone(world.scheduler, true);
    await world.pass(100);
    await Promise.all([drained, released]);
  });

  test("a bug of a scheduler is reported without details", async () => {
    const world = new World();
    world.service.view = async () => {
      throw new TypeError("secret");
    };
    const described = assert.rejects(world.client.admin({ kind: "cluster" }), hasCode("INVARIANT"));
    await world.pass(100);
    await described;
  });

  test("a closed client sends no request", async () => {
    const world = new World();
    world.service.view = () => new Promise(() => {});
    const underWay = assert.rejects(world.client.admin({ kind: "cluster" }), hasCode("STOPPING"));
    await world.pass(100);
    world.client.close();
    const late = new TestListener<SchedulerMessage>();
    world.client.report(late);
    const later = assert.rejects(world.client.admin({ kind: "cluster" }), hasCode("STOPPING"));
    await world.pass(1_000);
    await Promise.all([underWay, later]);
    assert.equal(codeOf(late), "STOPPING");
  });
});
