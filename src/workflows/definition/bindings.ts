// What a run is bound to: a build of the code, the definition of its workflow, both, or nothing. Stores keep it as one text and only
// compare it, so what a worker may have is told to them as all the texts that fit. Pure.
import type { ClaimedBinding, StoredWorker, TypeClaim } from "../../ports/workflows.ts";

export interface Binding {
  readonly build: string | undefined;
  /** The fingerprint of its code. */
  readonly definition: string | undefined;
}

/** The code of a worker, as far as it says which runs it may have. */
export interface WorkerCode {
  /** Empty: it has none, and binds no run to it. */
  readonly build: string;
  /** Other builds whose runs it goes on with. */
  readonly compatible: readonly string[];
  /** Fingerprints of its workflows, by type. */
  readonly definitions: Readonly<Record<string, string>>;
}

/** What runs are bound to by the worker that has them first: its build alone, or the definition of their workflow as well. */
export type Pinning = "build" | "definition";

const NOTHING: Binding = { build: undefined, definition: undefined };
const MARK = "[";

/** A build alone is itself; everything else, and a build that looks like it, is a list in JSON. */
export function writeBinding({ build, definition }: Binding): string | undefined {
  if (definition !== undefined) return JSON.stringify([build ?? null, definition]);
  return build?.startsWith(MARK) ? JSON.stringify([build]) : build;
}

export function readBinding(text: string | undefined): Binding {
  if (text === undefined) return NOTHING;
  const plain = { build: text, definition: undefined };
  if (!text.startsWith(MARK)) return plain;
  try {
    const [build, definition] = JSON.parse(text) as [string | null, string?];
    return { build: build ?? undefined, definition };
  } catch {
    // Written when builds stood there as they are.
    return plain;
  }
}

/** What runs of a type may be bound to for that worker to have them, and what they are bound to once it has. */
export function typeClaim(type: string, code: WorkerCode, pinning: Pinning): TypeClaim {
  const definition = definitionOf(type, code);
  const builds = [...new Set([code.build, ...code.compatible])].filter((build) => build !== "");
  const bindings: ClaimedBinding[] = [];
  for (const of of definition === undefined ? [undefined] : [undefined, definition]) {
    for (const build of [undefined, ...builds]) {
      const binds = { build: build ?? (code.build || undefined), definition: pinning === "build" ? of : definition };
      bindings.push({ bound: writeBinding({ build, definition: of }), binds: writeBinding(binds) });
    }
  }
  return { type, bindings };
}

/** Whether a run of that type that is bound to this may be had by a worker with that code. */
export function fits({ build, definition }: Binding, type: string, code: WorkerCode): boolean {
  if (definition !== undefined && definition !== definitionOf(type, code)) return false;
  return build === undefined || build === code.build || code.compatible.includes(build);
}

export const definitionOf = (type: string, { definitions }: Pick<WorkerCode, "definitions">): string | undefined =>
  (Object.hasOwn(definitions, type) && definitions[type]) || undefined;

/** As a worker, here or elsewhere, has told of itself. */
export function codeOf({ build, about }: Pick<StoredWorker, "build" | "about">): WorkerCode {
  const { compatible = [], fingerprints = {} } = JSON.parse(about) as {
    compatible?: string[];
    fingerprints?: Record<string, string>;
  };
  return { build, compatible, definitions: fingerprints };
}
