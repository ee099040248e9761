// What actors that are remembered need of those who bring them back to life.
import type { Activation, EndReason } from "./activation/activation.ts";
import type { ActorType } from "./actor-type.ts";

export interface Remembering {
  /** From now on actors are brought back to life. */
  start(): void;
  /** It is about to begin. Resolves when it is sure that it is brought back to life; with false, if it is not this host's to begin. */
  keep(type: ActorType, id: string): Promise<boolean>;
  /** It is over with it. Resolves when it is sure that it is not brought back; rejects when that is not known. */
  forget(type: ActorType, id: string): Promise<void>;
  /** It has left memory, and nobody waits for it. */
  left(activation: Activation, reason: EndReason | undefined): void;
  /** In how long one that has stopped is started again here; undefined: it does not wait for that. */
  restartsInMs(type: ActorType, id: string): number | undefined;
  /** Brings the gauges up to date; called when somebody looks. */
  measure(): void;
  /** There is one more type. */
  added(): void;
}
