// Real processes on one file that settle rules, lead one after the other, and are killed while they remember
// actors.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { freshFile, next, run } from "../process-kit.test.ts";
import { openSqliteStore } from "../sqlite-store.ts";

describe("processes that share shards in one SQLite file", { timeout: 600_000 }, () => {
  test("processes that settle the rule of a type at once all get the same one", async () => {
    const file = freshFile();
    const all = Array.from({ length: 6 }, (_, i) =>
      run(
        file,
        `const store = await openSqliteStore(file);
         console.log("ready");
         await line();
         const { shards, version } = await store.shards.settle({ namespace: "n", type: "T", shards: ${i + 1}, version: "${i}" });
         console.log(shards, version);
         await store.close();`,
      ),
    );
    for (const { lines } of all) assert.equal(await next(lines), "ready");
    for (const { child } of all) child.stdin!.write("go\n");
    const answers = await Promise.all(all.map(({ lines }) => next(lines)));
    assert.match(answers[0]!, /^(1 0|2 1|3 2|4 3|5 4|6 5)$/);
    assert.deepEqual(answers, Array(6).fill(answers[0]));
    for (const { ended } of all) assert.deepEqual(await ended, [0, null]);
  });

  test("the homes of shards are the ones of the last term, however many schedulers lead one after the other", async () => {
    const file = freshFile();
    const all = Array.from({ length: 4 }, (_, i) =>
      run(
        file,
        `const store = await openSqliteStore(file);
         console.log("ready");
         await line();
         const about = { machine: "m", pid: ${i}, address: "", dedicated: true, leaseMs: 60_000, hostLeaseMs: 1 };
         for (let step = 0; step < 60; step++) {
           const incarnation = "${i}-" + step;
           const { term, leading } = await store.coordination.campaign({ incarnation, ...about });
           await store.coordination.resign(incarnation);
           if (!leading) continue;
           const homes = Array.from({ length: 50 }, (_, shard) => ({ namespace: "n", type: "T", shard, incarnation }));
           if (await store.shards.noteHomes(term, homes)) console.log(term, incarnation);
         }
         console.log("done");
         await store.close();`,
      ),
    );
    for (const { lines } of all) assert.equal(await next(lines), "ready");
    for (const { child } of all) child.stdin!.write("go\n");
    const noted = await Promise.all(
      all.map(async ({ lines }) => {
        const own: string[] = [];
        for (let line = await next(lines); line !== "done"; line = await next(lines)) own.push(line);
        return own;
      }),
    );
    for (const { ended } of all) assert.deepEqual(await ended, [0, null]);
    const terms = new Map(noted.flat().map((line) => [Number(line.split(" ")[0]), line.split(" ")[1]]));
    assert.equal(terms.size, noted.flat().length);
    const store = await openSqliteStore(file);
    const homes = await store.shards.homes();
    assert.equal(homes.length, 50);
    const last = terms.get(Math.max(...terms.keys()));
    for (const { incarnation } of homes) assert.equal(incarnation, last);
    await store.close();
  });

  test("a process that is killed while it remembers actors loses no acknowledged one", async () => {
    const file = freshFile();
    const { child, lines, ended } = run(
      file,
      `import { writeSync } from "node:fs";
       const store = await openSqliteStore(file);
       for (let n = 0; ; n++) {
         const changes = Array.from({ length: 10 }, (_, i) => ({ namespace: "n", type: "T", shard: 0, id: n + "-" + i, isKept: true }));
         await store.shards.remember(undefined, changes);
         writeSync(1, n + 1 + "\\n");
       }`,
    );
    let answered = 0;
    while (answered < 100) answered = Number(await next(lines));
    child.kill("SIGKILL");
    for (let more = await lines.next(); !more.done; more = await lines.next()) answered = Number(more.value);
    assert.deepEqual(await ended, [null, "SIGKILL"]);
    const store = await openSqliteStore(file);
    const ids = new Set(await store.shards.remembered({ namespace: "n", type: "T", shard: 0 }, undefined, 1_000_000));
    assert.equal(ids.size % 10, 0, "a step is there in part");
    for (let n = 0; n < answered; n++)
      for (let i = 0; i < 10; i++) assert.ok(ids.has(`${n}-${i}`), `${n}-${i} is lost`);
    await store.close();
  });
});
