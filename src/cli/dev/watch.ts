// `--watch`: a small parent process runs the app in a child and restarts it when a loaded file changes. The
// child reports its loaded files. The parent asks it to stop instead of killing it, so that running turns end
// and commit. After a failure the parent waits for the next change. Ctrl-C ends both.

import { type ChildProcess, fork } from "node:child_process";
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import type { ResolvedSettings } from "../../config/settings.ts";
import { systemClock } from "../../host/system.ts";
import type { Context } from "../common/command.ts";
import { EXIT } from "../common/failure.ts";
import { stopRequest } from "../common/process/stop-request.ts";

export const WATCHED_ENV = "LIMPET_WATCHED";

/** Editors write a file in several steps; one restart covers them all. */
const SETTLE_MS = 100;
const KILL_GRACE_MS = 7_000;
const BIN = join(import.meta.dirname, `../bin${extname(import.meta.filename)}`);

export async function watchApp(context: Context, resolved: ResolvedSettings, file: string): Promise<number> {
  const watcher = new AppWatcher(context, resolved.settings.drainTimeout);
  for (const each of [file, resolved.file ?? "limpet.yaml"]) watcher.look(resolve(context.cwd, each));
  const stopping = stopRequest({ catchErrors: false });
  watcher.start();
  // A second Ctrl-C ends this process at once, and the child must not remain.
  process.on("exit", () => watcher.kill());
  await stopping;
  return watcher.end();
}

class AppWatcher {
  readonly #context: Context;
  readonly #drainMs: number;
  /** Folder → relevant names in it. Folders are watched, because editors replace files. */
  readonly #names = new Map<string, Set<string>>();
  readonly #folders: FSWatcher[] = [];
  #child: ChildProcess | undefined;
  #settle: NodeJS.Timeout | undefined;
  #restarting = false;
  #ended = false;

  constructor(context: Context, drainMs: number) {
    this.#context = context;
    this.#drainMs = drainMs;
  }

  look(file: string): void {
    const folder = dirname(file);
    const known = this.#names.get(folder);
    if (known !== undefined) {
      known.add(basename(file));
      return;
    }
    const names = new Set([basename(file)]);
    try {
      const watching = watch(folder, (_event, name) => {
        if (name !== null && (names.has(name) || names.has(name.replace(/\.[cm]?[jt]s$/, ""))))
          this.#changed(join(folder, name));
      });
      watching.on("error", () => watching.close());
      this.#folders.push(watching);
      this.#names.set(folder, names);
    } catch {
      // A missing folder cannot be watched; a change that creates it also changes the file that imports from
      // it.
    }
  }

  start(): void {
    const { argv, env } = this.#context;
    const child = fork(BIN, ["dev", ...argv], { env: { ...env, [WATCHED_ENV]: "1" }, stdio: "inherit" });
    this.#child = child;
    child.on("message", (message) => {
      if (typeof message === "string") this.look(message);
    });
    child.on("exit", () => {
      if (this.#child === child) this.#child = undefined;
      if (!this.#ended && !this.#restarting) this.#print("Waiting for a change.");
    });
  }

  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  /** The exit code is the child's, if there was one to stop. */
  async end(): Promise<number> {
    this.#ended = true;
    clearTimeout(this.#settle);
    for (const folder of this.#folders) folder.close();
    return (await this.#stopChild("stop")) ?? EXIT.ok;
  }

  #changed(file: string): void {
    if (this.#ended) return;
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => void this.#restart(file), SETTLE_MS);
  }

  async #restart(file: string): Promise<void> {
    // A restart in progress starts the child from the current files after the old one has ended.
    if (this.#restarting || this.#ended) return;
    this.#restarting = true;
    this.#print(`${relative(this.#context.cwd, file)} has changed; restarting.`);
    await this.#stopChild("restart");
    this.#restarting = false;
    if (!this.#ended) this.start();
  }

  async #stopChild(word: "stop" | "restart"): Promise<number | undefined> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return undefined;
    const gone = new Promise<number | undefined>((resolve) => child.once("exit", (code) => resolve(code ?? undefined)));
    if (child.connected) child.send(word, () => {});
    const timer = systemClock.after(this.#drainMs + KILL_GRACE_MS, () => child.kill("SIGKILL"));
    const code = await gone;
    timer.cancel();
    return code;
  }

  #print(text: string): void {
    const { terminal, json } = this.#context;
    if (!json) terminal.errLine(terminal.paintErr("dim", text));
  }
}
