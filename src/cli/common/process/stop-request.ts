// Waits for a reason to stop: Ctrl-C, SIGTERM, a closed terminal, a request of the watcher, or an uncaught
// error. The first one requests a stop, a second one forces it.

export interface StopReason {
  /** The exit code when there is nothing to drain yet. */
  readonly abruptExit: number;
  /** The watcher restarts the app at once, so no message is needed. */
  readonly quiet?: true;
  /** An uncaught error of the app. */
  readonly uncaught?: { readonly error: unknown };
}

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * npm forwards a Ctrl-C that the terminal has already sent to the whole group, so one press arrives twice
 * within milliseconds. No user presses twice that fast.
 */
const ONE_PRESS_MS = 250;

/** Listens from now on. The watcher's parent process does not catch errors: they would be its own. */
export function stopRequest(options: { catchErrors: boolean }): Promise<StopReason> {
  return new Promise((resolve) => {
    let first: number | undefined;
    for (const [signal, exitCode] of Object.entries(SIGNALS)) {
      process.on(signal, () => {
        if (first !== undefined && performance.now() - first > ONE_PRESS_MS) process.exit(exitCode);
        first ??= performance.now();
        resolve({ abruptExit: exitCode });
      });
    }
    // In a child of the watcher: it sends stop, or it is gone and could never send it.
    process.on("message", (message) => {
      if (message === "stop") resolve({ abruptExit: 0 });
      if (message === "restart") resolve({ abruptExit: 0, quiet: true });
    });
    process.on("disconnect", () => resolve({ abruptExit: 0 }));
    if (options.catchErrors) {
      process.on("uncaughtException", (error) => resolve({ abruptExit: 1, uncaught: { error } }));
    }
  });
}
