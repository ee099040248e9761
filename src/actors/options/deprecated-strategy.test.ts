// Tests the warning about the deprecated name of the external shard strategy.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Log } from "../../ports/log.ts";
import { testLimpet } from "../../testing.ts";
import { Actor } from "../actor.ts";
import { sharded } from "./sharded-options.ts";

test("a process warns once per type about the strategy `told` and runs its actors", async () => {
  const warned: object[] = [];
  const log: Log = {
    debug() {},
    info() {},
    warn: (event, fields) => void warned.push({ event, ...fields }),
    error() {},
  };
  class Feed extends Actor {
    static options = { placement: sharded({ shards: 4, strategy: "told" }) };
    read(): string {
      return this.id;
    }
  }
  class Room extends Actor {
    static options = { placement: sharded({ shards: 4, strategy: "external" }) };
    read(): string {
      return this.id;
    }
  }
  await using app = await testLimpet({ actors: [Feed, Room, Feed], log });
  const option = "Feed.options.placement.strategy";
  const expected = [{ event: "option.deprecated", type: "Feed", option, value: "told", use: "external" }];
  assert.equal(await app.actor(Feed, "a").read(), "a");
  assert.equal(await app.actor(Room, "b").read(), "b");
  assert.deepEqual(warned, expected);
});
