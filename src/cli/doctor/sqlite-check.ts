// Checks whether the SQLite file is usable. It takes a short lock and changes nothing; a missing file stays
// missing.

import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { formatBytes } from "../common/phrases.ts";
import { type Check, fail, passed, warn } from "./check.ts";

const BUSY_MS = 2_000;
const MiB = 1024 * 1024;
const LITTLE_ROOM = 500 * MiB;
const NO_ROOM = 20 * MiB;

export function checkSqlite(location: string, cwd: string): Check[] {
  const file = resolve(cwd, location);
  const folder = nearestFolder(dirname(file));
  const writable = checkWritable(file, folder);
  if (writable !== undefined) return [writable];
  return [
    existsSync(file) ? checkFile(file, location) : passed("Store", `${location} is created at the first start`),
    checkRoom(folder),
  ];
}

/** The folder itself may not exist yet. */
function nearestFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestFolder(dirname(folder));
}

function checkWritable(file: string, folder: string): Check | undefined {
  for (const path of existsSync(file) ? [file, folder] : [folder]) {
    try {
      accessSync(path, constants.R_OK | constants.W_OK);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      return fail(
        "Store",
        `${path} cannot be written (${code})`,
        "Grant this user write access, or choose another file with --store.",
      );
    }
  }
  if (!statSync(folder).isDirectory())
    return fail("Store", `${folder} is not a folder`, "Choose another file with --store.");
  return existsSync(file) && statSync(file).isDirectory()
    ? fail("Store", `${file} is a folder`, "Name a file inside it with --store.")
    : undefined;
}

function checkFile(file: string, shown: string): Check {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file);
    db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    const schema = Number(db.prepare("PRAGMA user_version").get()?.user_version);
    const mode = String(db.prepare("PRAGMA journal_mode").get()?.journal_mode);
    const tables = db.prepare("SELECT count(*) AS count FROM sqlite_schema WHERE name = 'actors'").get()?.count;
    // Proves that the file can be locked and written; some network file systems only pretend to.
    db.exec("BEGIN IMMEDIATE; ROLLBACK");
    if (schema === 0) return passed("Store", `${shown} is empty; its tables are created at the first start`);
    if (tables === 0) return fail("Store", `${shown} belongs to another program`, "Choose another file with --store.");
    const size = formatBytes(statSync(file).size);
    if (mode !== "wal")
      return warn("Store", `${shown} has no write-ahead log (${mode})`, "It gets one at the next start.");
    return passed("Store", `${shown}: SQLite ${process.versions.sqlite}, schema ${schema}, write-ahead log, ${size}`);
  } catch (error) {
    return fail(
      "Store",
      `${shown} cannot be used: ${(error as Error).message}`,
      hintFor(error as { errcode?: number }),
    );
  } finally {
    db?.close();
  }
}

const BUSY = 5;
const NOT_A_DATABASE = 26;

function hintFor({ errcode = 0 }: { errcode?: number }): string {
  // Extended codes keep the basic one in their lowest byte.
  if ((errcode & 0xff) === BUSY) return "Another process holds a lock; find the process that has the file open.";
  if ((errcode & 0xff) === NOT_A_DATABASE) return "Choose another file with --store.";
  return "Choose another file with --store, or restore this one from a backup.";
}

function checkRoom(folder: string): Check {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const message = `${formatBytes(free)} free in ${folder}`;
  if (free < NO_ROOM) return fail("Disk", message, "Free disk space: without it no commit is possible.");
  return free < LITTLE_ROOM ? warn("Disk", message, "Free disk space soon.") : passed("Disk", message);
}
