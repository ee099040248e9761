// What an actor in memory needs of its surroundings.
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type { ReminderWriter } from "../ports/reminder-book.ts";
import type { Commit, CommitOutcome, StateWrite, Taken } from "../ports/store.ts";
import type { WorkflowWriter } from "../ports/workflow-book.ts";
import type { Activation, EndReason } from "./activation.ts";
import type { Deadlines } from "./deadlines.ts";
import type { Caller } from "./group-call.ts";
import type { Incarnation } from "./incarnation.ts";
import type { LongTurns } from "./long-turns.ts";
import type { MissingMethod } from "./missing-method.ts";
import type { Remembering } from "./remembering.ts";
import type { ActorClass, CallSettings } from "./remote.ts";
import type { Turn } from "./turn.ts";

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
