// Checks that at most one activation of an actor is in memory in the cluster. A host detects the end of its
// lease by its own clocks. The rule therefore holds only while a host does not sleep through the end of its
// lease and its clocks are accurate enough. Two parts hold even after a sleep: no turn begins in an
// activation after a newer one began elsewhere, and no turn that ends then succeeds. A process checks its
// clocks first when it resumes.
import type { Process } from "../../../src/world/process.ts";
import type { Life, Operation, Turn } from "../../observer.ts";
import type { Stage } from "../../stage.ts";
import type { Checker, CheckerKind, ReportViolation } from "../checker.ts";
import { Excuses } from "../excuses.ts";
import { hostOf, isStateful, labelOf, nameOf, timesOf } from "../looks.ts";

/** Share of a lease: the margin is 15 %, from the release by the old host to the start on the new one. */
const SLEEP = 0.1;

/** Renewals of a lease in its duration. */
const RENEWALS = 5;

export const singleRunner: CheckerKind = {
  name: "single runner",
  rule: "at most one activation of an actor is in memory, unless its process slept through the end of its lease",
  make: (stage, report) => new SingleRunner(stage, report),
};

class SingleRunner implements Checker {
  readonly #stage: Stage;
  readonly #report: ReportViolation;
  readonly #leaseMs: number;
  readonly #waitsForLeases: boolean;
  readonly #excuses: Excuses;
  /**
   * Activations by actor and process that have not reported their end. An activation that is cut off does not
   * report it.
   */
  readonly #holders = new Map<string, Map<number, Life>>();
  readonly #newest = new Map<string, Life>();
  #activations = 0;
  /** Position of each activation in the order of their beginnings, by its number. */
  readonly #orders = new Map<number, number>();
  /** Activations by number that began while the clocks of their process erred. */
  readonly #begunBySlowClock = new Set<number>();
  /** Operations whose turn ended after the actor became active elsewhere. */
  readonly #late = new Map<string, string>();

  constructor(stage: Stage, report: ReportViolation) {
    const { leaseMs, failover } = timesOf(stage.plan);
    this.#stage = stage;
    this.#report = report;
    this.#leaseMs = leaseMs;
    this.#waitsForLeases = failover !== "fast";
    this.#excuses = new Excuses(stage, leaseMs * 2);
  }

  slept(process: Process, ms: number): void {
    this.#excuses.slept(process, ms);
  }

  gone(host: unknown, process: Process): void {
    this.#excuses.gone(host, process);
  }

  stepped(): void {
    this.#excuses.stepped();
  }

  activated(life: Life): void {
    const name = nameOf(life);
    const ofActor = this.#holders.get(name) ?? new Map<number, Life>();
    this.#holders.set(name, ofActor);
    ofActor.set(life.process.number, life);
    this.#newest.set(name, life);
    this.#orders.set(life.number, ++this.#activations);
    if (this.#excuses.isSlow(life.process)) this.#begunBySlowClock.add(life.number);
    this.#checkAlone(life);
  }

  deactivated(life: Life): void {
    const ofActor = this.#holders.get(nameOf(life));
    if (ofActor?.get(life.process.number) === life) ofActor.delete(life.process.number);
  }

  turnBegan({ life, op }: Turn): void {
    const newer = this.#superseded(life);
    if (newer?.isExcused === true) this.#stage.excuse("single runner");
    else if (newer !== undefined) this.#report(`${labelOf(life)} begins ${op} at ${newer.where}`);
    this.#checkAlone(life);
  }

  turnEnded({ life, op }: Turn): void {
    const newer = this.#superseded(life);
    if (newer?.isExcused === false) this.#late.set(op, newer.where);
  }

  answered({ token, outcome, call }: Operation): void {
    const where = this.#late.get(token);
    if (where === undefined || outcome === undefined || "error" in outcome) return;
    this.#report(`${token} on ${labelOf(call)} was answered by a turn that ended at ${where}`);
  }

  #checkAlone(life: Life): void {
    for (const older of this.#holders.get(nameOf(life))?.values() ?? []) {
      if (older.process === life.process) continue;
      if (older.process.hasEnded) {
        this.deactivated(older);
        continue;
      }
      const slept = this.#excuses.overslept(older.process, this.#leaseMs * SLEEP, this.#leaseMs / RENEWALS);
      // Or the newer process has slept while its wall clock was set back: it does not know that its lease had
      // ended before.
      const isExcused = slept || this.#clocksErr(older) || this.#excuses.isSlow(life.process);
      void isHeld(older).then((held) => {
        if (!held) this.deactivated(older);
        else if (isExcused) this.#stage.excuse("single runner");
        else {
          const where = `process ${life.process.number} while it lives at process ${older.process.number}`;
          this.#report(`${labelOf(life)} is active at ${where}`);
        }
      });
    }
  }

  /**
   * Place of a newer activation in another process, if there is one. `isExcused`: clocks err, or erred when
   * the newer activation began: its process may have slept while its wall clock was set back, as in
   * `#checkAlone`.
   */
  #superseded(life: Life): { readonly where: string; readonly isExcused: boolean } | undefined {
    const latest = this.#newest.get(nameOf(life));
    if (latest === undefined || latest.process === life.process) return undefined;
    if ((this.#orders.get(latest.number) ?? 0) <= (this.#orders.get(life.number) ?? 0)) return undefined;
    const where = `process ${life.process.number} after it has come to life at process ${latest.process.number}`;
    return { where, isExcused: this.#clocksErr(life) || this.#begunBySlowClock.has(latest.number) };
  }

  #clocksErr({ process }: Life): boolean {
    if (!this.#waitsForLeases) return true;
    return this.#excuses.isSlow(process) || this.#excuses.isAnyFast || this.#excuses.storeJumped;
  }
}

/**
 * True if an activation of the actor is still in that process. An activation in memory without an epoch does
 * not count.
 */
async function isHeld({ process, type, id }: Life): Promise<boolean> {
  const page = await hostOf(process)?.list({ active: true, type, prefix: id, limit: 1_000 });
  const found = page?.actors.find((actor) => actor.id === id);
  return found !== undefined && (!isStateful(type) || found.epoch !== undefined);
}
