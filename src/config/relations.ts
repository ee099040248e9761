// Settings that must fit each other. Checked once, when all of them are known; an error names both and where each
// came from. Pure.

import { isLoopback } from "../kernel/addresses.ts";
import { formatDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import { OPTIONS, type SettingKey, type Settings } from "./options.ts";
import { describeOrigin, type Origin } from "./origin.ts";

export type Origins = { readonly [K in SettingKey]: Origin };

export function checkRelations(settings: Settings, origins: Origins): void {
  const name = (key: SettingKey): string => describeOrigin(origins[key]);
  if (settings.storeTimeout > settings.callTimeout) {
    throw new LimpetError(
      "OPTION_INVALID",
      `${name("storeTimeout")} is ${formatDuration(settings.storeTimeout)} and ${name("callTimeout")} is ` +
        `${formatDuration(settings.callTimeout)}; storeTimeout must not be longer than callTimeout, or callers time ` +
        "out before they learn that the store is down",
    );
  }
  if (!isLoopback(settings.httpHost) && settings.httpTokens.length === 0) {
    throw new LimpetError(
      "OPTION_INVALID",
      `${name("httpHost")} is ${JSON.stringify(settings.httpHost)}, which others can reach, so a token is needed; set ` +
        `${OPTIONS.httpTokens.env} or http.tokens, or listen on 127.0.0.1`,
    );
  }
}
