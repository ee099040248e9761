import assert from "node:assert/strict";
import { chmod, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Log, LogFields } from "../../ports/log.ts";
import { silentLog } from "../../ports/log.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const skip = process.platform === "win32" ? "Windows has no file modes" : false;

const modeOf = async (file: string): Promise<string> => ((await stat(file)).mode & 0o777).toString(8);

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "limpet-access-"));
  const before = process.umask(0);
  try {
    await work(folder);
  } finally {
    process.umask(before);
    await rm(folder, { recursive: true });
  }
}

test(
  "a new SQLite file, the files beside it and its folder are accessible only to their owner, with any umask",
  { skip },
  () =>
    inFolder(async (folder) => {
      const file = join(folder, ".limpet", "deep", "limpet.db");
      const store = await openSqliteStore(file);
      await store.coordination.secret("a secret");
      for (const end of ["", "-wal", "-shm"]) assert.equal(await modeOf(`${file}${end}`), "600", end);
      assert.equal(await modeOf(join(folder, ".limpet")), "700");
      assert.equal(await modeOf(join(folder, ".limpet", "deep")), "700");
      await store.close();
    }),
);

test(
  "a SQLite file that every user may read loses that access when it is opened, also while a process uses it",
  { skip },
  () =>
    inFolder(async (folder) => {
      const file = join(folder, "limpet.db");
      const first = await openSqliteStore(file);
      for (const end of ["", "-wal", "-shm"]) await chmod(`${file}${end}`, 0o644);
      const lines: [string, LogFields | undefined][] = [];
      const log: Log = { ...silentLog, info: (event, fields) => void lines.push([event, fields]) };
      const second = await openSqliteStore(file, { log });
      for (const end of ["", "-wal", "-shm"]) assert.equal(await modeOf(`${file}${end}`), "600", end);
      assert.deepEqual(lines[0], ["store.access-narrowed", { file, from: "0644", to: "0600" }]);
      assert.equal(await first.coordination.secret("a"), await second.coordination.secret("b"));
      await first.close();
      await second.close();
    }),
);

test("a SQLite file that a group writes stays accessible to the group and to no other user", { skip }, () =>
  inFolder(async (folder) => {
    const file = join(folder, "limpet.db");
    await (await openSqliteStore(file)).close();
    await chmod(file, 0o666);
    await (await openSqliteStore(file)).close();
    assert.equal(await modeOf(file), "660");
    assert.equal(await modeOf(folder), "700");
  }),
);
