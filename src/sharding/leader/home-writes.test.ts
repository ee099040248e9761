// Writes of shard homes: which of them count as durable.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../../kernel/errors.ts";
import { type Log, silentLog } from "../../ports/log.ts";
import type { ShardHomeChange, Shards } from "../../ports/store/shards.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { HomeWrites } from "./home-writes.ts";

const home = (shard: number): ShardHomeChange => ({ namespace: "n", type: "T", shard, incarnation: "a" });

/** `answers`: the store's answers, write after write. */
function writesOn(answers: (boolean | Error)[], log: Log = silentLog) {
  const clock = new VirtualClock();
  const over: string[] = [];
  const terms: number[] = [];
  const noteHomes = async (term: number): Promise<boolean> => {
    terms.push(term);
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer ?? assert.fail("the store is asked once more than expected");
  };
  const writes = new HomeWrites(7, {
    clock,
    log,
    shards: { noteHomes } as unknown as Shards,
    over: (why) => void over.push(why),
  });
  return { clock, writes, over, terms };
}

describe("the write of a shard's home", () => {
  it("a home that the store rejects, because its term is over, does not count as written, and ends the term", async () => {
    const { clock, writes, over, terms } = writesOn([false]);
    const written: number[] = [];
    for (const shard of [1, 2]) writes.write(home(shard), () => written.push(shard));
    await clock.advance("10s");
    assert.deepEqual(written, []);
    assert.deepEqual(over, ["another scheduler leads by now"]);
    assert.deepEqual(terms, [7], "a refused write is not repeated");
  });

  it("a home counts as written when the store has taken it, after as many attempts as that needs", async () => {
    const { clock, writes, over } = writesOn([new LimpetError("STORE_UNAVAILABLE", "down"), true]);
    const written: number[] = [];
    writes.write(home(1), () => written.push(1));
    await clock.advance("100ms");
    assert.deepEqual(written, []);
    await clock.advance("10s");
    assert.deepEqual([written, over], [[1], []]);
  });

  it("a callback that throws is no failed write, and the other homes count as written at once", async () => {
    const logged: string[] = [];
    const log = { ...silentLog, error: (event: string) => void logged.push(event) };
    const { clock, writes, terms } = writesOn([true], log);
    const written: number[] = [];
    writes.write(home(1), () => assert.fail("a bug"));
    writes.write(home(2), () => written.push(2));
    await clock.advance("0s");
    assert.deepEqual([written, logged, terms], [[2], ["shard.callback-failed"], [7]]);
  });
});
