// A host as its doors see it: what HTTP and the command line may ask of it.

export interface CallOptions {
  /** Milliseconds until the caller is told CALL_TIMEOUT. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface TypeSummary {
  readonly type: string;
  /** Actors in memory now. */
  readonly active: number;
}

export interface ActorSummary {
  readonly type: string;
  readonly id: string;
  /** In memory here now. */
  readonly active: boolean;
  /** Calls waiting in its mailbox. */
  readonly waiting: number;
  readonly epoch: number | undefined;
  readonly version: number | undefined;
  /** Size of the stored state. */
  readonly bytes: number | undefined;
}

export interface ActorPage {
  readonly actors: readonly ActorSummary[];
  /** Pass it back as `after` for the next page. */
  readonly next: { readonly type: string; readonly id: string } | undefined;
}

export interface ListQuery {
  readonly type?: string | undefined;
  readonly prefix?: string | undefined;
  /** Only actors in memory here. */
  readonly active?: boolean | undefined;
  readonly after?: { readonly type: string; readonly id: string } | undefined;
  readonly limit: number;
}

/** Why is this actor doing what it does? Times are milliseconds since 1970. */
export interface Explanation {
  readonly type: string;
  readonly id: string;
  /** One sentence that answers the question. */
  readonly summary: string;
  readonly phase: "not active" | "activating" | "idle" | "running" | "deactivating";
  readonly activeSince: number | undefined;
  readonly lastUsed: number | undefined;
  /** What it does or waits for, oldest first. */
  readonly running: readonly { readonly method: string; readonly forMs: number; readonly waitsFor: string }[];
  readonly queued: readonly { readonly method: string; readonly forMs: number }[];
  readonly timers: readonly string[];
  readonly stored:
    | {
        readonly epoch: number;
        readonly version: number;
        readonly bytes: number;
        readonly owner: string;
        readonly committedAt: number | undefined;
      }
    | undefined;
}

export interface HostStatus {
  readonly incarnation: string;
  readonly version: string;
  readonly namespace: string;
  readonly startedAt: number;
  readonly store: string;
  /** False while stopping, or while the store does not answer. */
  readonly ready: boolean;
  /** Why it is not ready. */
  readonly problem: string | undefined;
}

export interface Host {
  /** Calls an actor by names. Rejects with a LimpetError, or with what the method threw. */
  call(type: string, id: string, method: string, args: readonly unknown[], options?: CallOptions): Promise<unknown>;
  types(): readonly TypeSummary[];
  list(query: ListQuery): Promise<ActorPage>;
  explain(type: string, id: string): Promise<Explanation>;
  status(): HostStatus;
}
