import assert from "node:assert/strict";
import { after, before, describe, it, mock } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../../test/support/postgres.ts";
import { Connections } from "./connections.ts";
import { postgresSettings } from "./settings.ts";

const MOST = 3;

async function untilTrue(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    assert.ok(tries < 500, `never: ${what}`);
    await pause(20);
  }
}

describe("connections of a PostgreSQL store", () => {
  let server: TestServer;
  let connections: Connections;

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.dispose());

  const open = (): Connections => {
    const settings = postgresSettings(server.url());
    return new Connections(settings, settings.driver, MOST);
  };
  const using = async (work: () => Promise<void>): Promise<void> => {
    connections = open();
    try {
      await work();
    } finally {
      await connections.close();
    }
  };
  const ask = (text: string, values: unknown[] = [], name = text.slice(0, 60)) =>
    connections.run({ name, text }, values, "doubtful");
  const pid = async (): Promise<number> => (await ask("SELECT pg_backend_pid()"))[0]![0] as number;
  const count = async (): Promise<number> => {
    const admin = new pg.Client(server.url());
    await admin.connect();
    const { rows } = await admin.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'limpet'");
    await admin.end();
    return Number(rows[0].count);
  };

  it("values of every kind are returned unchanged, on the first use of a statement and when it is prepared", async () => {
    await using(async () => {
      const text =
        "SELECT $1::text, $2::bigint, $3::boolean, $4::text, $5::bytea = '\\x00ff'::bytea, $6::integer, $7::float8, $8::text";
      const values = ["ünï“🚀", 2 ** 52, false, undefined, Buffer.from([0, 255]), -7, 0.25, ""];
      for (let i = 0; i < 3; i++) {
        assert.deepEqual(await ask(text, values), [["ünï“🚀", 2 ** 52, false, null, true, -7, 0.25, ""]]);
      }
    });
  });

  it("a query returns all of its rows, or none if there are none", async () => {
    await using(async () => {
      const text = "SELECT i, NULLIF(i % 2, 0)::text FROM generate_series(1, $1::bigint) AS i";
      assert.deepEqual(await ask(text, [0]), []);
      assert.deepEqual(await ask(text, [3]), [
        [1, "1"],
        [2, null],
        [3, "1"],
      ]);
      assert.equal((await ask(text, [5_000])).length, 5_000);
    });
  });

  it("a statement without result rows returns none", async () => {
    await using(async () => {
      await ask("CREATE TABLE IF NOT EXISTS written (what text)");
      for (const what of ["a", "b"]) assert.deepEqual(await ask("INSERT INTO written VALUES ($1)", [what]), []);
      assert.deepEqual(await ask("SELECT what FROM written ORDER BY what"), [["a"], ["b"]]);
    });
  });

  it("a connection survives a failed statement, also for the same statement", async () => {
    await using(async () => {
      const [first, text] = [await pid(), "SELECT 10 / $1::integer"];
      for (let i = 0; i < 2; i++) {
        await assert.rejects(ask(text, [0]), { code: "INVARIANT" });
        assert.deepEqual(await ask(text, [5]), [[2]]);
      }
      await assert.rejects(ask("SELECT nonsense FROM nowhere"), { code: "STORE_INCOMPATIBLE" });
      assert.equal(await pid(), first);
    });
  });

  it("unsupported values and names used for two statements are rejected without harm", async () => {
    await using(async () => {
      await assert.rejects(ask("SELECT $1::text", [{}]), /INVARIANT/);
      await ask("SELECT 1", [], "named");
      await assert.rejects(ask("SELECT 2", [], "named"), /INVARIANT/);
      assert.deepEqual(await ask("SELECT 1", [], "named"), [[1]]);
    });
  });

  it("a pool opens as many connections as are needed at once, and no more than allowed", async () => {
    await using(async () => {
      await Promise.all(Array.from({ length: 10 }, () => ask("SELECT pg_sleep(0.05)")));
      assert.equal(await count(), MOST);
      for (let i = 0; i < 5; i++) await pid();
      assert.equal(await count(), MOST);
    });
  });

  it("a connection that is lost while idle is replaced", async () => {
    await using(async () => {
      const first = await pid();
      const admin = new pg.Client(server.url());
      await admin.connect();
      await admin.query("SELECT pg_terminate_backend($1)", [first]);
      await admin.end();
      await untilTrue(async () => (await count()) === 0, "the connection is gone");
      const second = await pid().catch(() => pid());
      assert.notEqual(second, first);
      assert.equal(await count(), 1);
    });
  });

  it("a transaction keeps its connection until its end and frees it then", async () => {
    await using(async () => {
      const inside = await connections.transaction(async (runner) => {
        const own = { name: "own", text: "SELECT pg_backend_pid()" };
        const [row] = await runner.run(own, [], "doubtful");
        assert.notEqual(await pid(), row![0]);
        return row![0];
      });
      await assert.rejects(
        connections.transaction((runner) => runner.run({ name: "wrong", text: "SELECT 1 / 0" }, [], "doubtful")),
      );
      assert.ok([await pid(), await pid()].includes(inside as number));
      assert.equal(await count(), 2);
    });
  });

  it("connections that were not needed for some time are closed", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      await using(async () => {
        await Promise.all(Array.from({ length: MOST }, () => ask("SELECT pg_sleep(0.05)")));
        mock.timers.tick(60_000);
        await pid();
        assert.equal(await count(), MOST);
        mock.timers.tick(60_000);
        mock.timers.reset();
        await untilTrue(async () => (await count()) === 1, "one is left");
      });
    } finally {
      mock.timers.reset();
    }
  });

  it("all connections are closed with the store", async () => {
    await using(async () => {
      await Promise.all(Array.from({ length: MOST }, () => ask("SELECT pg_sleep(0.05)")));
    });
    await untilTrue(async () => (await count()) === 0, "none is left");
    await assert.rejects(ask("SELECT 1"), { code: "STORE_UNAVAILABLE" });
  });
});
