// Reads nested settings, the form of code and of limpet.yaml: an object with names of settings as keys, with
// `http` and `cluster` nested. `http: true` opens the server; `http: { port: … }` opens it there.

import { LimpetError } from "../kernel/errors.ts";
import { nearest } from "../kernel/nearest.ts";
import { OPTIONS, SETTING_KEYS, type SettingKey } from "./options.ts";
import { describeOrigin, type Entry, type Origin, type OriginOf } from "./origin.ts";

const BY_PATH = new Map<string, SettingKey>(SETTING_KEYS.map((key) => [OPTIONS[key].path, key]));
/** Settings with nested settings. */
const PARENTS = new Set([...BY_PATH.keys()].filter((path) => path.includes(".")).map((path) => path.split(".")[0]!));

/** `others`: names that are not settings but valid suggestions. */
export function nestedEntries(values: object, originOf: OriginOf, others: readonly string[] = []): Entry[] {
  const entries: Entry[] = [];
  const keyOf = (path: readonly string[]): SettingKey =>
    BY_PATH.get(path.join(".")) ?? refuseName(originOf(path), path, others);
  for (const [name, value] of Object.entries(values)) {
    // An absent name, and `name:` without a value, both mean: not set here.
    if (value === undefined || value === null) continue;
    if (PARENTS.has(name) && isPlainObject(value)) {
      // `sharding` only groups settings: it has no switch of its own.
      if (BY_PATH.has(name)) entries.push({ key: keyOf([name]), value: true, origin: originOf([name]) });
      for (const [inner, innerValue] of Object.entries(value)) {
        if (innerValue === undefined || innerValue === null) continue;
        const path = [name, inner];
        entries.push({ key: keyOf(path), value: innerValue, origin: originOf(path) });
      }
    } else {
      entries.push({ key: keyOf([name]), value, origin: originOf([name]) });
    }
  }
  return entries;
}

function refuseName(origin: Origin, path: readonly string[], others: readonly string[]): never {
  const known = [...BY_PATH.keys(), ...others];
  // `port` and `httpPort` are frequent spellings of `http.port`.
  const spelled = nearest(path.join("."), known) ?? nearest(path.join("."), SETTING_KEYS);
  const meant = spelled ?? known.find((candidate) => candidate.endsWith(`.${path.at(-1)}`));
  const hint =
    meant === undefined
      ? `known are ${known.join(", ")}`
      : `did you mean "${OPTIONS[meant as SettingKey]?.path ?? meant}"?`;
  throw new LimpetError("OPTION_INVALID", `${describeOrigin(origin)}: there is no such setting; ${hint}`);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
