// Port of remembered actors to the component that starts them again.
import type { Activation, EndReason } from "./activation/activation.ts";
import type { ActorType } from "./actor-type.ts";

export interface Remembering {
  /** From now on remembered actors are started. */
  start(): void;
  /**
   * Remembers an actor before it begins. Resolves when the store has it; with false, if this host must not
   * run the actor.
   */
  keep(type: ActorType, id: string): Promise<boolean>;
  /** Forgets an actor. Resolves when it will not be started again; rejects when that is unknown. */
  forget(type: ActorType, id: string): Promise<void>;
  /** The activation has left memory without waiting calls. */
  left(activation: Activation, reason: EndReason | undefined): void;
  /** Time until a stopped actor is started again here; undefined: no restart is planned. */
  restartsInMs(type: ActorType, id: string): number | undefined;
  /** Updates the gauges; called when the metrics are read. */
  measure(): void;
  /** A type was added. */
  added(): void;
  /** No actor is left in this process: nothing more is written. */
  close(): void;
}
