// When to stop: Ctrl-C, SIGTERM, a closed terminal, the watcher's word, or an error nobody caught. The first one asks,
// a second one insists.

export interface StopReason {
  /** What to exit with when there is nothing to drain yet. */
  readonly abruptExit: number;
  /** The watcher starts the app anew at once; nobody needs to hear of it. */
  readonly quiet?: true;
  /** Something in the app that nobody caught. */
  readonly uncaught?: { readonly error: unknown };
}

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * npm passes on a Ctrl-C that the terminal has already sent to the whole group, so one press arrives twice within
 * milliseconds. Nobody presses twice as fast.
 */
const ONE_PRESS_MS = 250;

/** Listens from now on. The watcher's own parent process leaves uncaught errors alone: they would be its own. */
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
    // In a child of the watcher: it says stop, or it is gone and nobody would ever say it.
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
