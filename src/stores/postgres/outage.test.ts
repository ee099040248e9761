// Outages of the server: under load, while the store is idle, and as silence on the connection.
import assert from "node:assert/strict";
import { connect, createServer, type Server, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type StopMode, startPostgres, type TestServer } from "../../../test/support/postgres.ts";
import { isLimpetError } from "../../kernel/errors.ts";
import type { Commit, Store, Taken } from "../../ports/store/store.ts";
import { actor, change, commitOf, freshNamespace, take, takeAll, whole } from "../contract/shared.contract.ts";
import { openPostgresStore } from "./postgres-store.ts";

/** Repeats `work` while the store does not respond; counts the errors by code. */
async function persist<T>(work: () => Promise<T>, refusals?: Map<string, number>): Promise<T> {
  for (let attempt = 0; attempt < 30_000; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isLimpetError(error, "STORE_UNAVAILABLE") && !isLimpetError(error, "COMMIT_UNKNOWN")) throw error;
      refusals?.set(error.code, (refusals.get(error.code) ?? 0) + 1);
      await pause(10);
    }
  }
  assert.fail("the store did not come back");
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let attempt = 0; attempt < 30_000; attempt++) {
    if (await condition()) return;
    await pause(5);
  }
  assert.fail(`never happened: ${what}`);
}

describe("outages of the PostgreSQL server", () => {
  let server: TestServer;

  before(async () => {
    server = await startPostgres();
  });
  after(async () => {
    await server?.dispose();
  });

  test("every acknowledged commit survives an outage, and every repeated one is applied once", async () => {
    const store = await openPostgresStore(await server.createDatabase(), { connectTimeoutMs: 1_000 });
    const namespace = freshNamespace();
    const refusals = new Map<string, number>();
    const LANES = 4;
    const ACTORS = 16;
    const counts: number[] = Array(LANES).fill(0);
    let stopping = false;

    /**
     * Each lane has actors of its own, and commits to all of them at once; some states are large, some are
     * changes.
     */
    const lane = async (number: number): Promise<Taken[]> => {
      const keys = Array.from({ length: ACTORS }, (_, i) => ({
        ...actor(`${number}-${i}`, namespace),
        owner: "host-1",
      }));
      const held = await takeAll(store, keys);
      while (!stopping) {
        const count = counts[number]!;
        const batch = held.map((one, i): Commit => {
          const data = `${count}`.padEnd(i % 4 === 0 ? 3_000 : 10, ".");
          return commitOf(one, i % 4 === 1 && count > 0 ? change(data) : whole(data), count);
        });
        const outcomes = await persist(() => store.commit(batch), refusals);
        assert.deepEqual(outcomes, Array(ACTORS).fill("committed"));
        counts[number]!++;
      }
      return held;
    };

    const lanes = counts.map((_, number) => lane(number));
    const total = () => counts.reduce((sum, count) => sum + count, 0);
    for (const mode of ["immediate", "fast", "immediate"] satisfies StopMode[]) {
      const goal = total() + 40;
      await until(() => total() >= goal, "40 more batches are committed");
      await server.stop(mode);
      await server.start();
    }
    const goal = total() + 40;
    await until(() => total() >= goal, "commits go on after the last start");
    stopping = true;
    await Promise.all(lanes);
    assert.ok(
      [...refusals.values()].reduce((sum, count) => sum + count, 0) > 0,
      "no operation failed while the server was away",
    );

    for (const [number, count] of counts.entries()) {
      for (let i = 0; i < ACTORS; i++) {
        const { version, state } = await take(store, actor(`${number}-${i}`, namespace));
        assert.equal(version, count);
        const last = state?.changes.at(-1) ?? state?.whole;
        assert.equal(Number(last?.replaceAll(".", "")), count - 1);
        if (i % 4 === 1) assert.equal(state?.changes.length, count - 1);
      }
    }
    await store.close();
  });

  test("an idle store notices an outage, does not end the process, and works again without being reopened", async () => {
    const store = await openPostgresStore(await server.createDatabase());
    const held = await take(store, actor("alice"));
    await Promise.all(Array.from({ length: 5 }, () => store.ping()));
    await server.stop("fast");
    await assert.rejects(store.ping(), { code: "STORE_UNAVAILABLE" });
    await assert.rejects(store.commit([commitOf(held, whole("x"))]), { code: "STORE_UNAVAILABLE" });
    await server.start();
    await persist(() => store.ping());
    assert.deepEqual(await store.commit([commitOf(held, whole("x"))]), ["committed"]);
    await store.close();
  });

  test("a store can be closed while the server is away", async () => {
    const store = await openPostgresStore(await server.createDatabase());
    await store.ping();
    await server.stop("immediate");
    await store.close();
    await assert.rejects(store.ping(), { code: "STORE_UNAVAILABLE" });
    await server.start();
  });

  test("opening waits for a server that is starting up", async () => {
    const url = await server.createDatabase();
    await server.stop("immediate");
    const starting = server.start();
    const store = await persist(() => openPostgresStore(url));
    await store.ping();
    await starting;
    await store.close();
  });
});

/**
 * A proxy between the store and the server that can fall silent: connections stay open and no data passes.
 */
class Middleman {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #silent = false;
  /**
   * While this is set, responses of the server are dropped, so that a commit happens and its response is
   * lost.
   */
  isSilent = false;

  constructor(to: number) {
    // While it is silent, it does not respond to the end of a connection either.
    this.#server = createServer({ allowHalfOpen: true }, (near) => {
      const far = connect(to, "127.0.0.1");
      near.on("end", () => this.#silent || near.destroy());
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => {
          this.#sockets.delete(socket);
          (socket === near ? far : near).destroy();
        });
      }
      near.on("data", (chunk) => this.#silent || far.write(chunk));
      far.on("data", (chunk) => this.#silent || this.isSilent || near.write(chunk));
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return (this.#server.address() as { port: number }).port;
  }

  silence(silent: boolean): void {
    this.#silent = silent;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

describe("connections that fall silent", () => {
  let server: TestServer;
  let middleman: Middleman;
  let store: Store;
  let direct: Store;

  before(async () => {
    server = await startPostgres();
    const url = new URL(await server.createDatabase());
    direct = await openPostgresStore(url.href);
    middleman = new Middleman(server.port);
    url.port = `${await middleman.listen()}`;
    store = await openPostgresStore(url.href, { statementTimeoutMs: 100, connectTimeoutMs: 500 });
  });
  after(async () => {
    await direct?.close();
    await store?.close();
    middleman?.close();
    await server?.dispose();
  });

  test("a commit whose response is lost is unknown, and is recognised when it is sent again", async () => {
    const key = actor("alice");
    const held = await take(store, key);
    const commit = commitOf(held, whole("once"));
    middleman.isSilent = true;
    await assert.rejects(store.commit([commit]), { code: "COMMIT_UNKNOWN" });
    middleman.isSilent = false;
    assert.equal((await direct.find(key))?.version, 1);
    assert.deepEqual(await store.commit([commit]), ["committed"]);
    assert.equal((await direct.find(key))?.version, 1);
  });

  test("a commit that never arrived is unknown too, and is applied when it is sent again", async () => {
    const key = actor("alice");
    const held = await take(store, key);
    const commit = commitOf(held, whole("once"));
    middleman.silence(true);
    await assert.rejects(store.commit([commit]), { code: "COMMIT_UNKNOWN" });
    // The next attempt needs a new connection, and is rejected before anything is sent.
    await assert.rejects(store.commit([commit]), { code: "STORE_UNAVAILABLE" });
    await assert.rejects(store.take([{ ...key, owner: "host-1" }]), { code: "STORE_UNAVAILABLE" });
    await assert.rejects(store.ping(), { code: "STORE_UNAVAILABLE" });
    middleman.silence(false);
    assert.equal((await direct.find(key))?.version, 0);
    assert.deepEqual(await store.commit([commit]), ["committed"]);
  });

  test("closing a store does not wait for a silent connection", async () => {
    await store.ping();
    middleman.silence(true);
    await store.close();
    await assert.rejects(store.ping(), { code: "STORE_UNAVAILABLE", message: /closed/ });
  });
});
