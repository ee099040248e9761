// Reads and writes the pin of a run: a build of the code, the definition of its workflow, both, or
// neither. A store keeps it as one text and compares it only for equality. A claim therefore lists every text
// that fits the worker. Pure.
import type { ClaimedPin, StoredWorker, TypeClaim } from "../../ports/store/workflows.ts";

export interface Pin {
  readonly build: string | undefined;
  /** The fingerprint of the workflow's code. */
  readonly definition: string | undefined;
}

/** The part of a worker's code that decides which runs it may claim. */
export interface WorkerCode {
  /** Empty: the worker has no build, and pins no run to one. */
  readonly build: string;
  /** Other builds whose runs it continues. */
  readonly compatible: readonly string[];
  /** Fingerprints of its workflows, by type. */
  readonly definitions: Readonly<Record<string, string>>;
}

/** The pin that the first worker gives to a run: its build alone, or also the workflow's definition. */
export type RunPinning = "build" | "definition";

const NOTHING: Pin = { build: undefined, definition: undefined };
const JSON_START = "[";

/** A build alone is written as it is. Everything else, and a build that begins like JSON, is a JSON list. */
export function writePin({ build, definition }: Pin): string | undefined {
  if (definition !== undefined) return JSON.stringify([build ?? null, definition]);
  return build?.startsWith(JSON_START) ? JSON.stringify([build]) : build;
}

export function readPin(text: string | undefined): Pin {
  if (text === undefined) return NOTHING;
  const plain = { build: text, definition: undefined };
  if (!text.startsWith(JSON_START)) return plain;
  try {
    const [build, definition] = JSON.parse(text) as [string | null, string?];
    return { build: build ?? undefined, definition };
  } catch {
    // An earlier release wrote this build as it is.
    return plain;
  }
}

/** The pins of a type that a worker may claim, each with the pin that the claim writes. */
export function typeClaim(type: string, code: WorkerCode, pinning: RunPinning): TypeClaim {
  const definition = definitionOf(type, code);
  const builds = [...new Set([code.build, ...code.compatible])].filter((build) => build !== "");
  const pins: ClaimedPin[] = [];
  for (const of of definition === undefined ? [undefined] : [undefined, definition]) {
    for (const build of [undefined, ...builds]) {
      const next = { build: build ?? (code.build || undefined), definition: pinning === "build" ? of : definition };
      pins.push({ pinned: writePin({ build, definition: of }), pins: writePin(next) });
    }
  }
  return { type, pins };
}

/** Whether a worker with that code may claim a run of that type with this pin. */
export function mayContinue({ build, definition }: Pin, type: string, code: WorkerCode): boolean {
  if (definition !== undefined && definition !== definitionOf(type, code)) return false;
  return build === undefined || build === code.build || code.compatible.includes(build);
}

const definitionOf = (type: string, { definitions }: Pick<WorkerCode, "definitions">): string | undefined =>
  (Object.hasOwn(definitions, type) && definitions[type]) || undefined;

/** From the row that a local or remote worker registered. */
export function workerCodeOf({ build, about }: Pick<StoredWorker, "build" | "about">): WorkerCode {
  const { compatible = [], fingerprints = {} } = JSON.parse(about) as {
    compatible?: string[];
    fingerprints?: Record<string, string>;
  };
  return { build, compatible, definitions: fingerprints };
}
