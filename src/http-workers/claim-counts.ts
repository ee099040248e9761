// Counts the replay modes of remote workers' claims within the last minute, at all hosts. Each host keeps its
// counts by the second and writes them into the store soon after they change, so that every host can report
// the sums of the cluster.
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Workflows } from "../ports/store/workflows.ts";
import type { MinuteOfClaims } from "../ports/workflow-admin.ts";
import { addCounts, MinuteCounts, NO_CLAIMS, type SecondCounts } from "../workflows/worker/minute-counts.ts";

export interface ClaimCountsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Workflows, "seen" | "workers" | "forgetWorker">;
  readonly namespace: string;
  /** The id of this process. */
  readonly host: string;
  /** The store's clock: hosts compare their seconds by it. */
  now(): number;
}

/** The longest delay before counts are written. */
const WRITE_MS = 1_000;
/** The row of a host that was not written for this long is ignored. */
const OLD_MS = 180_000;

export class ClaimCounts {
  readonly #deps: ClaimCountsDeps;
  readonly #counts: MinuteCounts<keyof MinuteOfClaims>;
  /** No namespace contains a line break, so these rows never mix with workers. */
  readonly #rows: string;
  #timer: Timer | undefined;

  constructor(deps: ClaimCountsDeps) {
    this.#deps = deps;
    this.#counts = new MinuteCounts({ monotonic: () => deps.now() });
    this.#rows = `${deps.namespace}\nclaims`;
  }

  add(name: keyof MinuteOfClaims, count = 1): void {
    if (count === 0) return;
    this.#counts.add(name, count);
    this.#timer ??= this.#deps.clock.after(WRITE_MS, () => void this.#write());
  }

  /** The sums of all hosts; counts of other hosts from the last second may be missing. */
  async lastMinute(): Promise<MinuteOfClaims> {
    const { store, host } = this.#deps;
    const sums = { ...NO_CLAIMS, ...this.#counts.all };
    const oldest = this.#deps.now() - OLD_MS;
    for (const { worker, about, seenAt } of await store.workers(this.#rows)) {
      if (seenAt < oldest) await store.forgetWorker(this.#rows, worker);
      else if (worker !== host) addCounts(sums, this.#counts.inLastMinute(readSeconds(about)));
    }
    return sums;
  }

  /** Other hosts report these counts for as long as they are recent. */
  async stop(): Promise<void> {
    if (this.#timer !== undefined) await this.#write();
  }

  async #write(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const about = JSON.stringify({ seconds: this.#counts.seconds });
    const nothing = { queue: "", build: "", isSticky: false, isDraining: false };
    try {
      await this.#deps.store.seen({ namespace: this.#rows, worker: this.#deps.host, ...nothing, about });
    } catch (err) {
      this.#deps.log.warn("workflow.counts.failed", { err });
    }
  }
}

const readSeconds = (about: string): readonly SecondCounts<keyof MinuteOfClaims>[] =>
  (JSON.parse(about) as { seconds?: SecondCounts<keyof MinuteOfClaims>[] }).seconds ?? [];
