import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import pg from "pg";
import { type PostgresOptions, postgresSettings } from "./settings.ts";

const INVALID = { name: "LimpetError", code: "OPTION_INVALID" };

describe("PostgreSQL settings", () => {
  test("a new connection and a statement on it take no longer than the store timeout", () => {
    for (const storeTimeoutMs of [5_000, 10_000, 60_000]) {
      const { driver, openTimeoutMs } = postgresSettings("postgres://a@db/shop", { storeTimeoutMs });
      assert.ok((driver.connectionTimeoutMillis ?? 0) + Number(driver.query_timeout) <= storeTimeoutMs);
      assert.equal(openTimeoutMs, storeTimeoutMs);
    }
  });

  test("the location names the server, and never the password or the parameters", () => {
    const locations = {
      "postgres://alice:s3cret@db.example:6543/shop": "postgres://alice@db.example:6543/shop",
      "postgresql://alice:s3cret@db.example/shop?sslmode=disable&password=s3cret":
        "postgres://alice@db.example:5432/shop",
      "postgres://al%40ice:s3cret@[::1]:5432/sh%20op": "postgres://al%40ice@[::1]:5432/sh%20op",
      "postgres://alice:s3cret@/shop?host=/var/run/pg": "postgres://alice@%2Fvar%2Frun%2Fpg:5432/shop",
    };
    for (const [url, location] of Object.entries(locations)) assert.equal(postgresSettings(url).location, location);
  });

  test("a server on another machine without TLS counts as unencrypted", () => {
    const plain = {
      "postgres://alice@db.example/shop": true,
      "postgres://alice@10.0.0.1/shop?sslmode=disable": true,
      "postgres://alice@db.example/shop?sslmode=require": false,
      "postgres://alice@db.example/shop?sslmode=verify-full": false,
      "postgres://alice@localhost/shop": false,
      "postgres://alice@[::1]:5432/shop": false,
      "postgres://alice@/shop?host=/var/run/pg": false,
    };
    for (const [url, expected] of Object.entries(plain))
      assert.equal(postgresSettings(url).isUnencrypted, expected, url);
  });

  test("an invalid URL is rejected without repeating it", () => {
    for (const url of [
      "",
      "s3cret",
      "mysql://u:s3cret@h/d",
      "postgres://u:s3cret@h:port/d",
      "postgres://u:s3cret@[/d",
    ]) {
      assert.throws(
        () => postgresSettings(url),
        (error: Error) => {
          assert.doesNotMatch(inspect(error, { depth: 5 }), /s3cret/);
          assert.match(inspect(error), /OPTION_INVALID/);
          return true;
        },
        url,
      );
    }
  });

  test("session options of the URL come after the required ones, so both count", () => {
    const { driver } = postgresSettings("postgres://u:p@h/d?options=-c%20search_path%3Dx&application_name=shop");
    assert.match(driver.options ?? "", /lock_timeout=100 .* -c search_path=x$/);
    const { connectionParameters: used } = new pg.Client(driver) as unknown as {
      connectionParameters: { options: string; application_name: string };
    };
    assert.equal(used.options, driver.options);
    assert.equal(used.application_name, "shop");
  });

  test("an invalid option is rejected", () => {
    const bad: PostgresOptions[] = [
      { schema: "" },
      { schema: "Limpet" },
      { schema: 'x"; DROP' },
      { schema: "a".repeat(64) },
      { connections: 0 },
      { connections: 1.5 },
      { connectTimeoutMs: -1 },
      { statementTimeoutMs: Number.NaN },
      { lockTimeoutMs: Number.POSITIVE_INFINITY },
    ];
    for (const options of bad)
      assert.throws(() => postgresSettings("postgres://h/d", options), INVALID, inspect(options));
  });
});
