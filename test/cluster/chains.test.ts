// Calls from actor to actor across hosts: reentrant calls, cancellation, timeouts and failures behave as
// within one process.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TestCluster } from "../support/cluster.ts";
import type { Stop } from "../support/cluster-actors.ts";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";
import { type ClusterProcess, Thrown } from "../support/cluster-process.ts";

const TYPES = ["Tally", "Strict", "Lenient"] as const;

for (const { store, open } of groundsFor("SQLite")) {
  describe(`chains of calls through a cluster on ${store}`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("chains of calls come back, are cancelled, end in time, and fail as they do within one process", async (t) => {
      await using place = await grounds.place();
      await using cluster = new TestCluster(t, place);
      const [one, two, three] = (await cluster.startAll(["one", "two", "three"], { types: TYPES })) as [
        ClusterProcess,
        ClusterProcess,
        ClusterProcess,
      ];
      const hosts = [one, two, three];
      for (const type of TYPES) await cluster.settled(3, type);
      const on = async (host: ClusterProcess, type: "Strict" | "Lenient"): Promise<Stop> => {
        return [type, await cluster.idOn(host, type, host.name)];
      };
      const lenient = await Promise.all(hosts.map((host) => on(host, "Lenient")));
      const strict = await Promise.all(hosts.map((host) => on(host, "Strict")));
      cluster.load.through(...hosts);
      const begin = (host: ClusterProcess, [type, id]: Stop, method: string, ...args: unknown[]) =>
        host.call(type, id, method, args);

      await t.test("a call that comes back enters the turn that waits for it, from wherever it started", async () => {
        const [a, b, c] = lenient as [Stop, Stop, Stop];
        const seen = [a, b, a, c, b, a].map(
          ([type, id], i) => `${type}/${id}@${[one, two, one, three, two, one][i]!.pid}`,
        );
        for (const host of hosts) assert.deepEqual(await begin(host, a, "walk", [b, a, c, b, a]), seen);
      });

      await t.test("a cycle that is not allowed fails at once, with its whole chain", async () => {
        const [a, b, c] = strict as [Stop, Stop, Stop];
        const chain = [a, b, c, a].map(([type, id]) => `${type}/${id}.walk`).join(" → ");
        for (const host of hosts) {
          const error = await failure(begin(host, a, "walk", [b, c, a]));
          assert.equal(error.code, "CALL_CYCLE");
          assert.ok(error.message.includes(chain), error.message);
        }
        // No call is left waiting.
        assert.equal(((await begin(two, a, "walk", [b, c])) as unknown[]).length, 3);
      });

      await t.test("a chain of mixed actors comes back where that is allowed", async () => {
        const way = [strict[1]!, lenient[0]!];
        assert.equal(((await begin(three, lenient[0]!, "walk", way)) as unknown[]).length, 3);
        const error = await failure(begin(three, strict[1]!, "walk", [lenient[0]!, strict[1]!]));
        assert.equal(error.code, "CALL_CYCLE");
      });

      await t.test("who gives up at the beginning is heard at the end", async () => {
        const before = (await three.counts()).gaveUp;
        const controller = new AbortController();
        const [type, id] = strict[0]!;
        const way = [[strict[1]!, strict[2]!]];
        const call = one.call(type, id, "linger", way, { signal: controller.signal });
        const failed = failure(call);
        await cluster.load.until(async () => (await three.counts()).lingering === 1, "the chain is at its end");
        controller.abort();
        assert.equal((await failed).code, "CALL_CANCELLED");
        await cluster.load.until(async () => (await three.counts()).gaveUp === before + 1, "the last one is told");
        assert.equal((await three.counts()).lingering, 0);
      });

      await t.test("the time of the first call is the time of all, and when it is over all of them know", async () => {
        const before = (await three.counts()).gaveUp;
        const [type, id] = strict[0]!;
        const way = [strict[1]!, strict[2]!];
        const left = (await one.call(type, id, "left", [way], { timeoutMs: 3_000 })) as number;
        assert.ok(left > 0 && left <= 3_000, `${left} ms are left of 3000`);
        const failed = await failure(one.call(type, id, "linger", [way], { timeoutMs: 300 }));
        assert.equal(failed.code, "CALL_TIMEOUT");
        await cluster.load.until(async () => (await three.counts()).gaveUp === before + 1, "the last one is told");
      });

      await t.test("an error keeps its name, its message, its code and its cause", async () => {
        const [a, b, c] = strict as [Stop, Stop, Stop];
        for (const host of hosts) {
          const { serialized } = await failure(begin(host, a, "fail", [b, c], "richly"));
          assert.equal(serialized.name, "OrderFailed");
          assert.equal(serialized.message, "it went wrong");
          assert.equal(serialized.code, "ORDER_17");
          assert.equal(serialized.cause?.name, "TypeError");
          assert.equal(serialized.cause?.message, "what is behind it");
          const plain = await failure(begin(host, a, "fail", [b, c], "plain"));
          assert.deepEqual([plain.serialized.name, plain.serialized.message], ["RangeError", "it is out of range"]);
        }
      });

      await cluster.load.more(50);
      cluster.expectOnly();
      await cluster.audit();
    });
  });
}

async function failure(call: Promise<unknown>): Promise<Thrown> {
  const error = await call.then(
    (value) => assert.fail(`it answered ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Thrown, String(error));
  return error;
}
