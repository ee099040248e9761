// Checks the relations between settings, once all of them are known. An error names both settings and their
// origins. Pure.

import { isLoopback } from "../kernel/addresses.ts";
import { formatDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import { OPTIONS, type SettingKey, type Settings } from "./options.ts";
import { describeOrigin, type Origin } from "./origin.ts";
import { hostOfAddress } from "./places.ts";

export type Origins = { readonly [K in SettingKey]: Origin };

export function checkRelations(settings: Settings, origins: Origins): void {
  const problem = timeProblem(settings, origins) ?? secretProblem(settings, origins);
  if (problem !== undefined) throw new LimpetError("OPTION_INVALID", problem);
}

type NumberKey = { [K in SettingKey]: Settings[K] extends number ? K : never }[SettingKey];

interface TimeRule {
  readonly shorter: NumberKey;
  readonly longer: NumberKey;
  readonly holds: (shorter: number, longer: number) => boolean;
  /** The end of a sentence that begins with the path of the shorter one. */
  readonly rule: string;
}

const TIME_RULES: readonly TimeRule[] = [
  {
    shorter: "storeTimeout",
    longer: "callTimeout",
    holds: (store, call) => store <= call,
    rule: "must not be longer than callTimeout, or callers time out before they learn that the store is down",
  },
  {
    shorter: "leaderLease",
    longer: "lease",
    holds: (leader, host) => leader <= host / 2,
    rule: "must be at most half of cluster.lease, or hosts lose their lease before another scheduler leads",
  },
  {
    shorter: "roundTimeout",
    longer: "lease",
    holds: (round, host) => round < host,
    rule: "must be shorter than cluster.lease, or a host that hangs is waited for longer than it may hold its actors",
  },
  {
    shorter: "moveTimeout",
    longer: "roundTimeout",
    holds: (move, round) => move < round,
    rule: "must be shorter than cluster.roundTimeout, or the leader disconnects a host that still waits for a turn within its time",
  },
  {
    shorter: "reminderPollInterval",
    longer: "reminderFetchAhead",
    holds: (poll, ahead) => poll <= ahead,
    rule: "must not be longer than reminders.fetchAhead, or reminders are late by the difference",
  },
  {
    shorter: "reminderFetchAhead",
    longer: "reminderLease",
    holds: (ahead, lease) => ahead <= lease / 3,
    rule: "must be at most a third of reminders.lease, or another process claims reminders that wait in memory here",
  },
];

function timeProblem(settings: Settings, origins: Origins): string | undefined {
  const broken = TIME_RULES.find(({ shorter, longer, holds }) => !holds(settings[shorter], settings[longer]));
  if (broken === undefined) return undefined;
  const shown = (key: NumberKey): string => `${describeOrigin(origins[key])} is ${formatDuration(settings[key])}`;
  return `${shown(broken.shorter)} and ${shown(broken.longer)}; ${OPTIONS[broken.shorter].path} ${broken.rule}`;
}

/** A server that other machines can reach needs a secret. */
function secretProblem(settings: Settings, origins: Origins): string | undefined {
  const { httpHost, httpTokens, clusterHost, clusterKeys, schedulers } = settings;
  const shown = (key: SettingKey, value: string): string =>
    `${describeOrigin(origins[key])} is ${JSON.stringify(value)}`;
  if (!isLoopback(httpHost) && httpTokens.length === 0) {
    return (
      `${shown("httpHost", httpHost)}, which others can reach, so a token is needed; set ` +
      `${OPTIONS.httpTokens.env} or http.tokens, or listen on 127.0.0.1`
    );
  }
  if (clusterKeys.length > 0) return undefined;
  const keyNeeded = `so a key of the cluster is needed; set ${OPTIONS.clusterKeys.env} or cluster.keys`;
  if (!isLoopback(clusterHost)) {
    return `${shown("clusterHost", clusterHost)}, which others can reach, ${keyNeeded}, or use 127.0.0.1`;
  }
  const far = schedulers.find((address) => !isLoopback(hostOfAddress(address)));
  if (far === undefined) return undefined;
  const named = `${describeOrigin(origins.schedulers)} names ${JSON.stringify(far)}`;
  return `${named}, which is not this machine, ${keyNeeded}: a scheduler that others can reach asks for it`;
}

/** Shorter ones can be guessed. */
const TOKEN_LENGTH = 16;
/** A random key of this length cannot be guessed, even with a recorded connection. */
const STRONG_KEY_LENGTH = 32;

export interface Weakness {
  readonly option: string;
  readonly why: string;
}

/** Warnings about weak but allowed settings. They do not repeat the values, which are secrets. */
export function weaknessesOf({ httpHost, httpTokens, clusterHost, clusterKeys }: Settings): Weakness[] {
  const found: Weakness[] = [];
  const short = (all: readonly string[], least: number): number | undefined =>
    all.map(({ length }) => length).find((length) => length < least);
  const token = isLoopback(httpHost) ? undefined : short(httpTokens, TOKEN_LENGTH);
  if (token !== undefined) {
    const why = `a token of ${token} characters can be guessed; use ${TOKEN_LENGTH} random ones or more`;
    found.push({ option: OPTIONS.httpTokens.path, why });
  }
  const key = isLoopback(clusterHost) ? undefined : short(clusterKeys, STRONG_KEY_LENGTH);
  if (key !== undefined) {
    const why = `a key of ${key} characters can be guessed; use ${STRONG_KEY_LENGTH} random ones, such as openssl rand -hex 32`;
    found.push({ option: OPTIONS.clusterKeys.path, why });
  }
  return found;
}
