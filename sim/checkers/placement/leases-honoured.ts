// Checks that a lease binds its holder, whether or not another process wants the resource. A host begins no
// turn after 70 % of its lease, counted from the sending of the last answered renewal. A leader sends no
// order after 85 % of its leadership.
// Messages between a host and a leader in the same process are not visible, so such a host is not checked.

import type { SchedulerMessage } from "../../../src/ports/control-messages.ts";
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { CheckerKind } from "../checker.ts";
import { Excuses } from "../excuses.ts";
import { labelOf, timesOf } from "../looks.ts";

const LAST_BEGINNING = 0.7;
const LAST_ORDER = 0.85;
/** A clock may be this much too slow without being an excuse. */
const SLOWNESS = 1.07;

interface Lease {
  leaseMs: number;
  /** When each renewal that may still be answered was sent. */
  readonly renewals: Map<number, number>;
  /** When the last answered renewal was sent. */
  since: number | undefined;
}

export const leasesHonoured: CheckerKind = {
  name: "leases honoured",
  rule: "no turn begins after 70 % of a host's lease, and no order is sent after 85 % of a leadership",
  make(stage, report) {
    const excuses = new Excuses(stage, timesOf(stage.plan).leaseMs * 2);
    const leases = new Map<Process, Lease>();
    const leaderships = new Map<Process, { readonly at: number; readonly leaseMs: number }>();
    const processAt = (place: number): Process | undefined =>
      stage.players.find(({ host }) => host.place === place)?.host.process;
    const leaseOf = (process: Process): Lease => {
      const lease = leases.get(process) ?? { leaseMs: 0, renewals: new Map(), since: undefined };
      leases.set(process, lease);
      return lease;
    };

    function sentByLeader(from: Process, to: number, message: SchedulerMessage): void {
      const host = processAt(to);
      if (host !== undefined && message.kind === "welcome") {
        const lease = leaseOf(host);
        lease.leaseMs = Math.max(lease.leaseMs, message.leaseMs);
      }
      if (host !== undefined && message.kind === "renewed") {
        const lease = leaseOf(host);
        const sentAt = lease.renewals.get(message.sequence);
        if (sentAt !== undefined) lease.since = Math.max(lease.since ?? 0, sentAt);
        for (const sequence of lease.renewals.keys()) if (sequence <= message.sequence) lease.renewals.delete(sequence);
      }
      const leadership = leaderships.get(from);
      if (leadership === undefined) return;
      const passed = stage.now - leadership.at;
      if (passed <= leadership.leaseMs * LAST_ORDER * SLOWNESS) return;
      if (excuses.isSlow(from)) stage.excuse("leases honoured");
      else report(`process ${from.number} sends ${message.kind} ${passed} ms after the store let it lead`);
    }

    return {
      slept: (process, ms) => excuses.slept(process, ms),
      gone: (host, process) => excuses.gone(host, process),
      stepped: () => excuses.stepped(),
      campaigned(process, { leaseMs }, { leading }) {
        if (leading) leaderships.set(process, { at: stage.now, leaseMs });
      },
      logged({ who, event }) {
        const process = event === "leader.elected" ? stage.player(who).host.process : undefined;
        if (process === undefined) return;
        const lease = leaseOf(process);
        lease.since = undefined;
        // From now on the host renews at itself. Late answers of an earlier leader have no effect.
        lease.renewals.clear();
      },
      sent(process, to, message) {
        const sent = message as VirtualControlMessage;
        if (sent.about === "scheduler") sentByLeader(process, to, sent.message);
        else if (sent.about === "host" && sent.message.kind === "renew")
          leaseOf(process).renewals.set(sent.message.sequence, stage.now);
      },
      turnBegan({ life, op }) {
        const lease = leases.get(life.process);
        if (lease?.since === undefined) return;
        const passed = stage.now - lease.since;
        if (passed <= lease.leaseMs * LAST_BEGINNING * SLOWNESS) return;
        const where = `process ${life.process.number}, ${passed} ms after its last renewal`;
        if (excuses.isSlow(life.process)) stage.excuse("leases honoured");
        else report(`${labelOf(life)} begins ${op} at ${where}`);
      },
    };
  },
};
