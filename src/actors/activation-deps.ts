// The dependencies of an actor in memory. `Catalog` implements it.
import type { EndReason, Remembering } from "../ports/actor-host.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type { ReminderWriter } from "../ports/reminder-writer.ts";
import type { WorkflowWriter } from "../ports/workflow-writer.ts";
import type { Activation } from "./activation/activation.ts";
import type { Deadlines } from "./activation/deadlines.ts";
import type { LongTurns } from "./activation/long-turns.ts";
import type { Ingress } from "./ingress.ts";
import type { ActorRouting } from "./routing/actor-routing.ts";
import type { StoreGateway } from "./store-gateway.ts";

/** Other features as actors use them; undefined: this process does not have the feature. */
export interface ActorFeatures {
  readonly reminders: ReminderWriter | undefined;
  readonly workflows: WorkflowWriter | undefined;
  /** Starts remembered actors. */
  readonly remembering: Remembering | undefined;
}

export interface ActivationDeps {
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly deadlines: Deadlines;
  readonly longTurns: LongTurns;
  /** How long `onDeactivate` may take. */
  readonly hookTimeoutMs: number;
  readonly store: StoreGateway;
  readonly calls: Ingress;
  readonly routing: ActorRouting;
  readonly features: ActorFeatures;
  /** True: the process stops, so an actor leaves as soon as no call waits for it. */
  readonly stopping: boolean;
  /**
   * The activation is cold without waiting calls. `reason`: end of its last life; undefined if it had none.
   */
  gone(activation: Activation, reason: EndReason | undefined): void;
}
