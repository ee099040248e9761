// Checks that one scheduler leads at a time. A replaced leader has ended its term by its own clock, unless it
// slept through that moment. Also after it resumes it sends no order in an ended term.

import type { Said } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { CheckerKind } from "../checker.ts";
import { Excuses } from "../excuses.ts";
import { doorOf, timesOf } from "../looks.ts";

/** Share of a leadership; as with a lease, the margin is 15 %. */
const SLEEP = 0.1;

/** Share of its lease after which a leader takes no action any more. */
const LASTS = 0.85;

export const leadership: CheckerKind = {
  name: "leadership",
  rule: "a scheduler begins to lead only while no other one considers itself the leader, and no scheduler gives orders in an ended term",
  make(stage, report) {
    const { leaderLeaseMs } = timesOf(stage.plan);
    const excuses = new Excuses(stage, leaderLeaseMs * 2);
    const leaders = new Map<string, { readonly term: number; readonly process: Process; readonly since: number }>();
    let newest = 0;
    let newestAt = 0;
    let newestIsDedicated = false;

    /**
     * A dedicated scheduler may begin when the store has ended the leadership of the embedded one, which has
     * yet to learn it. The embedded one learns it by the end of its lease at the latest, and the new leader
     * waits for the leases granted until then.
     */
    const isReplaced = (process: Process): boolean =>
      newestIsDedicated && !isDedicated(process.place) && stage.now <= newestAt + leaderLeaseMs;
    const isDedicated = (place: number): boolean =>
      stage.players.some(({ host, planned }) => host.place === place && planned.dedicated);

    const clocksErr = (process: Process): boolean =>
      excuses.isSlow(process) || excuses.somebodyIsFast || excuses.storeJumped;

    // A scheduler that gives up its leadership because it stops, or because it could not join, notifies no
    // other process.
    stage.world.database.watchers.push({
      asks(station, question) {
        if (question !== "resign") return;
        for (const [who, { process }] of leaders) if (process === station) leaders.delete(who);
      },
    });
    /**
     * A scheduler that stops in an orderly way sends no notification; its `door` shows it. A process without
     * a `door` is still joining, or has given up joining: only its first lease is known.
     */
    const believes = (process: Process, since: number): boolean =>
      doorOf(process)?.status().scheduler?.leads ?? (!process.hasEnded && stage.now < since + leaderLeaseMs * LASTS);

    function begins(who: string, term: number): void {
      for (const [other, { term: before, process, since }] of leaders) {
        if (other === who) continue;
        if (!believes(process, since)) leaders.delete(other);
        else if (excuses.overslept(process, leaderLeaseMs * SLEEP) || clocksErr(process) || isReplaced(process)) {
          stage.excuse("leadership");
        } else report(`${who} leads in term ${term} while ${other} believes to lead in term ${before}`);
      }
    }

    return {
      slept: (process, ms) => excuses.slept(process, ms),
      gone: (host, process) => excuses.gone(host, process),
      stepped: () => excuses.stepped(),
      told({ who, event, fields }) {
        if (event === "leader.stepped-down") leaders.delete(who);
        if (event !== "leader.elected") return;
        const term = fields?.term as number;
        const { process } = stage.player(who).host;
        if (term <= newest) report(`${who} begins to lead in term ${term}, and there was term ${newest}`);
        newest = Math.max(newest, term);
        newestAt = stage.now;
        newestIsDedicated = stage.player(who).planned.dedicated;
        begins(who, term);
        if (process !== undefined) leaders.set(who, { term, process, since: stage.now });
      },
      sent(process, _to, message) {
        const said = message as Said;
        if (said.about !== "scheduler") return;
        const { kind } = said.message;
        if (kind !== "order" && kind !== "welcome") return;
        if (said.message.term >= newest) return;
        if (clocksErr(process) || isReplaced(process)) stage.excuse("leadership");
        else report(`process ${process.number} speaks in term ${said.message.term} when term ${newest} had begun`);
      },
    };
  },
};
