// Checks that one scheduler leads at a time. A replaced leader has ended its term by its own clock, unless it
// slept through that moment. Also after it resumes it sends no order in an ended term.
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { StoryLine } from "../../../src/world/story.ts";
import type { Stage } from "../../stage.ts";
import type { Checker, CheckerKind, ReportViolation } from "../checker.ts";
import { Excuses } from "../excuses.ts";
import { hostOf, timesOf } from "../looks.ts";

/** Share of a leadership; as with a lease, the margin is 15 %. */
const SLEEP = 0.1;

/** Share of its lease after which a leader takes no action any more. */
const LASTS = 0.85;

interface Leader {
  readonly term: number;
  readonly process: Process;
  readonly since: number;
}

export const leadership: CheckerKind = {
  name: "leadership",
  rule: "a scheduler begins to lead only while no other one considers itself the leader, and no scheduler gives orders in an ended term",
  make: (stage, report) => new Leadership(stage, report),
};

class Leadership implements Checker {
  readonly #stage: Stage;
  readonly #report: ReportViolation;
  readonly #leaseMs: number;
  readonly #excuses: Excuses;
  /** By the name of the host. */
  readonly #leaders = new Map<string, Leader>();
  #newest = { term: 0, at: 0, isDedicated: false };

  constructor(stage: Stage, report: ReportViolation) {
    this.#stage = stage;
    this.#report = report;
    this.#leaseMs = timesOf(stage.plan).leaderLeaseMs;
    this.#excuses = new Excuses(stage, this.#leaseMs * 2);
    // A scheduler that gives up its leadership because it stops, or because it could not join, notifies no
    // other process.
    stage.world.database.watchers.push({
      asks: (station, question) => {
        if (question !== "resign") return;
        for (const [name, { process }] of this.#leaders) if (process === station) this.#leaders.delete(name);
      },
    });
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

  logged({ who, event, fields }: StoryLine): void {
    if (event === "leader.stepped-down") this.#leaders.delete(who);
    if (event !== "leader.elected") return;
    const term = fields?.term as number;
    const { now } = this.#stage;
    const { host, planned } = this.#stage.player(who);
    const newest = this.#newest.term;
    if (term <= newest) this.#report(`${who} begins to lead in term ${term}, and there was term ${newest}`);
    this.#newest = { term: Math.max(newest, term), at: now, isDedicated: planned.dedicated };
    this.#checkBegin(who, term);
    if (host.process !== undefined) this.#leaders.set(who, { term, process: host.process, since: now });
  }

  sent(process: Process, _to: number, message: unknown): void {
    const sent = message as VirtualControlMessage;
    if (sent.about !== "scheduler") return;
    const { kind } = sent.message;
    if (kind !== "order" && kind !== "welcome") return;
    const { term } = sent.message;
    if (term >= this.#newest.term) return;
    if (this.#clocksErr(process) || this.#isReplaced(process)) this.#stage.excuse("leadership");
    else this.#report(`process ${process.number} sends in term ${term} when term ${this.#newest.term} had begun`);
  }

  #checkBegin(name: string, term: number): void {
    for (const [other, leader] of this.#leaders) {
      if (other === name) continue;
      const { process } = leader;
      if (!this.#leads(leader)) this.#leaders.delete(other);
      else if (this.#overslept(process) || this.#clocksErr(process) || this.#isReplaced(process)) {
        this.#stage.excuse("leadership");
      } else
        this.#report(`${name} leads in term ${term} while ${other} considers itself the leader of term ${leader.term}`);
    }
  }

  /**
   * True if the process considers itself the leader. A scheduler that stops in an orderly way sends no
   * notification; its host shows it. A process without a host is still joining, or has given up joining: only
   * its first lease is known.
   */
  #leads({ process, since }: Leader): boolean {
    const leads = hostOf(process)?.status().scheduler?.leads;
    return leads ?? (!process.hasEnded && this.#stage.now < since + this.#leaseMs * LASTS);
  }

  #overslept(process: Process): boolean {
    return this.#excuses.overslept(process, this.#leaseMs * SLEEP);
  }

  #clocksErr(process: Process): boolean {
    return this.#excuses.isSlow(process) || this.#excuses.isAnyFast || this.#excuses.storeJumped;
  }

  /**
   * A dedicated scheduler may begin when the store has ended the leadership of the embedded one, which has
   * yet to learn it. The embedded one learns it by the end of its lease at the latest, and the new leader
   * waits for the leases granted until then.
   */
  #isReplaced({ place }: Process): boolean {
    const isDedicated = this.#stage.players.some(({ host, planned }) => host.place === place && planned.dedicated);
    const { at, isDedicated: isByDedicated } = this.#newest;
    return isByDedicated && !isDedicated && this.#stage.now <= at + this.#leaseMs;
  }
}
