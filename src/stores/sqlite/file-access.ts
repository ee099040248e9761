// Restricts the SQLite file to its owner: it holds state, arguments and the cluster secret. A new file gets
// mode 0600, a new folder 0700, with any umask. SQLite gives the files beside it (-wal, -shm) the mode of the
// file itself.
//
// An existing file loses read access for other users, which earlier releases gave. Its group keeps access
// only if it may write, because a group that shares a store on purpose needs that. An existing folder is not
// changed.
import { chmod, mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { LimpetError } from "../../kernel/errors.ts";
import type { Log } from "../../ports/log.ts";

const OWNER_ONLY = 0o600;
const OTHERS = 0o007;
const GROUP = 0o070;
const GROUP_WRITES = 0o020;
const BESIDE = ["", "-wal", "-shm", "-journal"];

export async function keepToOwner(file: string, log: Log): Promise<void> {
  await makeFolder(dirname(file));
  // SQLite reports a file that cannot be opened with a better message.
  const made = await open(file, "a", OWNER_ONLY).catch(() => undefined);
  await made?.close();
  // Windows has no such modes.
  if (process.platform === "win32") return;
  for (const end of BESIDE) await tighten(`${file}${end}`, log);
}

async function tighten(file: string, log: Log): Promise<void> {
  const mode = await stat(file).then(
    (found) => (found.isFile() ? found.mode & 0o777 : 0),
    () => 0,
  );
  const surplus = mode & (mode & GROUP_WRITES ? OTHERS : OTHERS | GROUP);
  if (surplus === 0) return;
  const shown = `0${mode.toString(8)}`;
  try {
    await chmod(file, mode & ~surplus);
    log.info("store.access-narrowed", { file, from: shown, to: `0${(mode & ~surplus).toString(8)}` });
  } catch (err) {
    log.warn("store.readable-by-others", { file, mode: shown, advice: `run chmod 600 ${file} as its owner`, err });
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new LimpetError("STORE_UNAVAILABLE", `cannot make the folder ${folder} for the SQLite file (${error})`, {
      cause: error,
    });
  }
}
