// limpet doctor

import { storeKind } from "../../config/places.ts";
import { type ResolvedSettings, resolveWithOrigins } from "../../config/settings.ts";
import { isLimpetError } from "../../kernel/errors.ts";
import { columns } from "../common/columns.ts";
import { type CliCommand, type Context, textFlag } from "../common/command.ts";
import { EXIT } from "../common/failure.ts";
import { plural } from "../common/phrases.ts";
import { SETTING_FLAGS } from "../common/setting-flags.ts";
import type { Tint } from "../common/terminal.ts";
import { type Check, fail, warn } from "./check.ts";
import { checkClock, checkNode } from "./machine-checks.ts";
import { checkHost, checkPort } from "./port-check.ts";
import { checkSettings, type ShownSetting, shownSettings } from "./settings-check.ts";
import { checkWorkflows } from "./workflow-check.ts";

export const doctorCommand: CliCommand = {
  name: "doctor",
  summary: "Check that everything limpet needs is there",
  about:
    "Checks Node, the clock, the settings and their sources, the store and the port; and, when a process runs\n" +
    "there, whether it is ready and its workflows make progress and are found in memory. It changes nothing.\n" +
    "Exit code 1 when something would not work. It does not see settings made in code; give them as flags.",
  arguments: [],
  flags: [],
  settings: SETTING_FLAGS,
  examples: ["limpet doctor", "limpet doctor --store postgres://localhost/shop", "limpet doctor --json"],
  async run(context) {
    const checks = [checkNode(), await checkClock()];
    const resolved = tryResolve(context);
    if ("status" in resolved) checks.push(resolved);
    else {
      checks.push(...checkSettings(resolved, context.env));
      checks.push(...(await checkStore(resolved, context.cwd)));
      checks.push(await checkPort(resolved.settings, resolved.origins.httpPort));
      checks.push(...(await checkHost(resolved.settings)));
      checks.push(...(await checkWorkflows(resolved.settings)));
    }
    const healthy = checks.every(({ status }) => status !== "fail");
    const settings = "status" in resolved ? [] : shownSettings(resolved);
    if (context.json) context.terminal.json({ ok: healthy, checks, settings });
    else show(checks, settings, context);
    return healthy ? EXIT.ok : EXIT.failed;
  },
};

function tryResolve({ flags, env, cwd }: Context): ResolvedSettings | Check {
  try {
    return resolveWithOrigins({ file: textFlag(flags, "config"), env, flags, cwd });
  } catch (error) {
    if (!isLimpetError(error)) throw error;
    return fail(
      "Settings",
      error.message,
      "The store and the port are checked after this is fixed. All settings: limpet help options",
    );
  }
}

async function checkStore({ settings }: ResolvedSettings, cwd: string): Promise<Check[]> {
  switch (storeKind(settings.store)) {
    case "memory":
      return [
        warn("Store", "memory: loses all data when the process ends", "Fine for tests; name a file to keep state."),
      ];
    case "sqlite":
      return (await import("./sqlite-check.ts")).checkSqlite(settings.store, cwd);
    case "postgres":
      return (await import("./postgres-check.ts")).checkPostgres(settings.store);
  }
}

const TINTS: Record<Check["status"], Tint> = { ok: "green", warn: "yellow", fail: "red" };

function show(checks: readonly Check[], settings: readonly ShownSetting[], { terminal }: Context): void {
  const { paint } = terminal;
  const rows = checks.flatMap(({ name, status, message, hint }) => [
    [paint(TINTS[status], status), name, message],
    ...(hint === undefined ? [] : [["", "", paint("dim", hint)]]),
  ]);
  for (const line of columns([{}, {}, {}], rows)) terminal.line(line);
  if (settings.length > 0) {
    terminal.line(`\n${paint("bold", "Settings")}`);
    const shown = settings.map(({ name, value, source }) => [name, value, paint("dim", source)]);
    for (const line of columns([{}, {}, {}], shown)) terminal.line(`  ${line}`);
  }
  const count = (status: Check["status"]) => checks.filter((check) => check.status === status).length;
  const warnings = count("warn") > 0 ? `, ${plural(count("warn"), "warning")}` : "";
  terminal.line();
  if (count("fail") > 0) terminal.line(`${paint("red", `${plural(count("fail"), "problem")}`)}${warnings}.`);
  else terminal.line(`${paint("green", "No problems")}${warnings}.`);
}
