// Real processes on one file: they start at once, end by themselves, and are killed.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { take } from "../contract/shared.contract.ts";
import { ALICE, freshFile, next, run } from "./process-kit.test.ts";
import { openSqliteStore } from "./sqlite-store.ts";

describe("processes on one SQLite file", { timeout: 600_000 }, () => {
  test("many processes that open the same new file at once all succeed", async () => {
    for (let round = 0; round < 3; round++) {
      const file = freshFile();
      const all = Array.from({ length: 6 }, () =>
        run(
          file,
          `console.log("ready");
           await line();
           const store = await openSqliteStore(file);
           const [taken] = await store.take([alice]);
           console.log(taken.epoch);
           await store.close();`,
        ),
      );
      for (const { lines } of all) assert.equal(await next(lines), "ready");
      for (const { child } of all) child.stdin!.write("go\n");
      const epochs = await Promise.all(all.map(({ lines }) => next(lines)));
      assert.equal(new Set(epochs.map(Number)).size, 6);
      for (const { ended } of all) assert.deepEqual(await ended, [0, null]);
    }
  });

  test("a process without further work ends although its store is open", async () => {
    const { ended, lines } = run(
      freshFile(),
      `const store = await openSqliteStore(file);
       await store.take([alice]);
       console.log("done");`,
    );
    assert.equal(await next(lines), "done");
    assert.deepEqual(await ended, [0, null]);
  });

  test("a process that waits for a commit stays until it is committed", async () => {
    const file = freshFile();
    const { ended } = run(
      file,
      `const store = await openSqliteStore(file);
       const [{ ref, epoch, version }] = await store.take([alice]);
       void store.commit([{ ref, epoch, version, id: "last", write: { kind: "whole", data: "x".repeat(1_000_000) } }]);`,
    );
    assert.deepEqual(await ended, [0, null]);
    const store = await openSqliteStore(file);
    assert.equal((await take(store, ALICE)).state?.whole.length, 1_000_000);
    await store.close();
  });

  test("a process that is killed while it writes loses no acknowledged commit", async () => {
    const file = freshFile();
    const { child, lines, ended } = run(
      file,
      `import { writeSync } from "node:fs";
       const store = await openSqliteStore(file);
       const [{ ref, epoch, version }] = await store.take([alice]);
       for (let n = version; ; n++) {
         const data = String(n + 1) + ",".repeat(n % 3 === 0 ? 2_000 : 0);
         await store.commit([{ ref, epoch, version: n, id: "commit " + n, write: { kind: "whole", data } }]);
         writeSync(1, n + 1 + "\\n");
       }`,
    );
    let notifications = 0;
    while (notifications < 200) notifications = Number(await next(lines));
    child.kill("SIGKILL");
    for (let more = await lines.next(); !more.done; more = await lines.next()) notifications = Number(more.value);
    assert.deepEqual(await ended, [null, "SIGKILL"]);
    const store = await openSqliteStore(file);
    const { version, state } = await take(store, ALICE);
    assert.ok(version >= notifications, `${version} is stored, ${notifications} was acknowledged`);
    assert.equal(Number.parseInt(state?.whole ?? "", 10), version);
    await store.close();
  });
});
