// What can be seen of a run while it goes on. Checkers and marks look at these and at nothing else.
import type { ActorKey } from "../src/kernel/names.ts";
import type { Candidate, Standing } from "../src/ports/coordination.ts";
import type { Commit, CommitOutcome, Taken, TakeRequest } from "../src/ports/store.ts";
import type { Process } from "../src/world/process.ts";
import type { StoryLine } from "../src/world/story.ts";
import type { WorldHost } from "../src/world/world-host.ts";
import type { PlannedCall } from "./plan.ts";

/** One activation of an actor, from its first word to its last. */
export interface Life {
  /** Unique in the run. */
  readonly number: number;
  readonly process: Process;
  readonly namespace: string;
  readonly type: string;
  readonly id: string;
  readonly bornAt: number;
}

export interface Turn {
  readonly number: number;
  readonly life: Life;
  /** The operation it performs. */
  readonly op: string;
  readonly beganAt: number;
}

export interface Operation {
  /** Unique in the run, and what an actor writes down. Begins with its namespace. */
  readonly token: string;
  readonly call: PlannedCall;
  readonly namespace: string;
  readonly process: Process;
  readonly beganAt: number;
  endedAt: number | undefined;
  /** Undefined while nobody knows, and for ever when its caller has ended. */
  outcome: { readonly value: unknown } | { readonly error: unknown } | undefined;
}

export interface Observer {
  started?(host: WorldHost, process: Process): void;
  /** However it ended. */
  gone?(host: WorldHost, process: Process): void;
  slept?(process: Process, ms: number, how: "pause" | "suspend"): void;
  /** The first thing an activation does. `entries`: what it finds in its state, if it has any. */
  activated?(life: Life, entries?: readonly string[]): void;
  /** The last thing it does, unless it was cut off. */
  deactivated?(life: Life, reason: string): void;
  turnBegan?(turn: Turn): void;
  turnEnded?(turn: Turn): void;
  taken?(process: Process, request: TakeRequest, taken: Taken): void;
  committed?(process: Process, commit: Commit, key: ActorKey, outcome: CommitOutcome): void;
  campaigned?(process: Process, candidate: Candidate, standing: Standing): void;
  /** A message of the virtual network was sent: `Said` of src/world/virtual-control.ts or virtual-links.ts. */
  sent?(from: Process, to: number, message: unknown): void;
  asked?(operation: Operation): void;
  answered?(operation: Operation): void;
  told?(line: StoryLine): void;
  faulted?(fault: string): void;
  /** After every step. Must be cheap. */
  stepped?(): void;
}
