// Checks whether the local host is ready, and if not, why: requests its health. Without a running host it
// reports nothing.

import type { Settings } from "../../config/options.ts";
import { ask } from "../ask.ts";
import { Failure } from "../failure.ts";
import { safe } from "../terminal.ts";
import { type Check, ok, warn } from "./check.ts";
import { targetOf } from "./port-check.ts";

export async function checkHost(settings: Settings): Promise<Check[]> {
  if (settings.httpPort === 0) return [];
  try {
    await ask(targetOf(settings), { verb: "GET", path: "/v1.0/healthz" });
    return [ok("Host", "the local process is ready")];
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.errorCode !== "NOT_READY") return [];
    return [warn("Host", safe(`the local process is not ready: ${error.message}`))];
  }
}
