// limpet dev <module>

import { resolveWithOrigins } from "../../config/settings.ts";
import { type CliCommand, type Context, textFlag } from "../common/command.ts";
import { settingsOrUsage } from "../common/failure.ts";
import { SETTING_FLAGS } from "../common/setting-flags.ts";
import { findModule } from "./load-module.ts";
import { recordLoadedFiles } from "./loaded-files.ts";
import { mainOfOtherCopy } from "./other-copy.ts";
import { runApp } from "./run-app.ts";
import { WATCHED_ENV, watchApp } from "./watch.ts";

export const devCommand: CliCommand = {
  name: "dev",
  summary: "Run a module that exports actors or workflows",
  about:
    "Every exported class that extends Actor is run, and every exported workflow, also inside an exported array or\n" +
    "object. Activities are the functions of its exported object `activities`. The HTTP server listens on 127.0.0.1.\n" +
    "A module may export `tryThese`, an array of commands to show when it is ready.",
  arguments: [{ name: "module", help: "A TypeScript or JavaScript file, such as app.ts." }],
  flags: [{ name: "watch", short: "w", kind: "switch", help: "Restart when a file of the app changes." }],
  settings: SETTING_FLAGS,
  examples: [
    "limpet dev app.ts",
    "limpet dev app.ts --watch --port 8000",
    "limpet dev app.ts --store postgres://localhost/shop",
  ],
  async run(context) {
    const file = findModule(context.args[0]!, context.cwd);
    const otherMain = await mainOfOtherCopy(file);
    if (otherMain !== undefined) return otherMain(["dev", ...context.argv]);
    const resolved = settingsOrUsage(() => resolveDev(context));
    const watched = context.env[WATCHED_ENV] === "1" && process.send !== undefined;
    if (context.flags.watch === true && !watched) return watchApp(context, resolved, file);
    recordLoadedFiles(watched ? (each) => process.send?.(each) : undefined);
    return runApp(context, resolved, file);
  },
};

/** The defaults of this command suit development. Every setting of the user replaces them. */
function resolveDev({ flags, env, cwd }: Context) {
  return resolveWithOrigins({
    command: { http: true, logLevel: "info" },
    file: textFlag(flags, "config"),
    env,
    flags,
    cwd,
  });
}
