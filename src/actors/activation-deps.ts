// What an actor in memory needs of its surroundings.
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type { ReminderWriter } from "../ports/reminder-writer.ts";
import type { Commit, CommitOutcome, StateWrite, Taken } from "../ports/store/store.ts";
import type { WorkflowWriter } from "../ports/workflow-writer.ts";
import type { Activation, EndReason } from "./activation/activation.ts";
import type { Deadlines } from "./activation/deadlines.ts";
import type { Incarnation } from "./activation/incarnation.ts";
import type { LongTurns } from "./activation/long-turns.ts";
import type { Turn } from "./activation/turn.ts";
import type { Caller } from "./group-call.ts";
import type { Remembering } from "./remembering.ts";
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
  /** Nobody stays longer than somebody waits for it. */
  readonly stopping: boolean;
  take(type: string, id: string): Promise<Taken>;
  /** `extras`: what is written, or settled, together with it. */
  commit(
    ref: number,
    epoch: number,
    version: number,
    write: StateWrite,
    extras: Pick<Commit, "settle" | "reminders" | "starts" | "arrivals"> | undefined,
    caller: Caller<CommitOutcome>,
  ): void;
  readonly reminders: ReminderWriter | undefined;
  readonly workflows: WorkflowWriter | undefined;
  readonly remembering: Remembering | undefined;
  handle(type: ActorClass | string, id: string, settings: CallSettings | undefined, caller: Incarnation): object;
  /** May a turn begin at this moment, or has too much of the host's lease passed? */
  mayBegin(now: number): boolean;
  /** May what a turn did be committed? */
  mayCommit(): boolean;
  /** It may not at this moment. Calls back once it is known whether the host keeps its lease after a sleep. */
  confirmLease(settled: (isKept: boolean) => void): void;
  /** True: the turn fails once other hosts have said whether their code has its method. */
  askElsewhere(turn: Turn, missing: MissingMethod): boolean;
  /** A call that has not begun must find its way again. */
  reroute(turn: Turn): void;
  /** It is cold and nothing waits for it. `reason`: why its last life ended; it may not have had one. */
  gone(activation: Activation, reason: EndReason | undefined): void;
}
