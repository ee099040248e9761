// The dependencies of an actor in memory.
import type { BatchCaller } from "../kernel/batch/fenced-batcher.ts";
import type { EndReason, Remembering } from "../ports/actor-host.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type { ReminderWriter } from "../ports/reminder-writer.ts";
import type { Commit, CommitOutcome, StateWrite, Taken } from "../ports/store/store.ts";
import type { WorkflowWriter } from "../ports/workflow-writer.ts";
import type { Activation } from "./activation/activation.ts";
import type { Deadlines } from "./activation/deadlines.ts";
import type { Incarnation } from "./activation/incarnation.ts";
import type { LongTurns } from "./activation/long-turns.ts";
import type { Turn } from "./activation/turn.ts";
import type { MissingMethod } from "./routing/missing-method.ts";
import type { ActorClass, CallSettings } from "./routing/remote.ts";

export interface ActivationDeps {
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly deadlines: Deadlines;
  readonly longTurns: LongTurns;
  /** How long `onDeactivate` may take. */
  readonly hookTimeoutMs: number;
  /** True: the process stops, so an actor leaves as soon as no call waits for it. */
  readonly stopping: boolean;
  take(type: string, id: string): Promise<Taken>;
  /** `extras`: reminders and workflows written, or settled, in the same commit. */
  commit(
    ref: number,
    epoch: number,
    version: number,
    write: StateWrite,
    extras: Pick<Commit, "settle" | "reminders" | "starts" | "arrivals"> | undefined,
    caller: BatchCaller<CommitOutcome>,
  ): void;
  readonly reminders: ReminderWriter | undefined;
  readonly workflows: WorkflowWriter | undefined;
  readonly remembering: Remembering | undefined;
  handle(type: ActorClass | string, id: string, settings: CallSettings | undefined, caller: Incarnation): object;
  /** False: too much of the host's lease has passed to begin a turn. */
  mayBegin(now: number): boolean;
  /** False: the lease may be over, so a turn must not commit now. */
  mayCommit(): boolean;
  /**
   * Called when `mayCommit` is false. Calls back once the host knows whether it kept its lease after a sleep.
   */
  confirmLease(settled: (isKept: boolean) => void): void;
  /** True: the turn fails after other hosts have reported whether their code has its method. */
  askElsewhere(turn: Turn, missing: MissingMethod): boolean;
  /** Routes a call that has not begun again. */
  reroute(turn: Turn): void;
  /**
   * The activation is cold without waiting calls. `reason`: end of its last life; undefined if it had none.
   */
  gone(activation: Activation, reason: EndReason | undefined): void;
}
