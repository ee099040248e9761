// Checks that the leader evicts no responsive host. A host that is awake and connected, for longer than an
// actor may take to move, is not late. Its eviction is a bug.

import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { Plan } from "../../plan.ts";
import type { CheckerKind } from "../checker.ts";
import { every, timesOf, troubleEnds } from "../looks.ts";

const LOOK_MS = 250;
/** Time for an order and its confirmation. */
const ON_THE_WAY_MS = 1_000;
/** A half-open connection is detected after some silence, and then replaced. */
const UNNOTICED_MS = 7_000;
/** A slower line may be the cause of a late confirmation. */
const MOST_DELAY_MS = 50;

export const noNeedlessEviction: CheckerKind = {
  name: "no needless eviction",
  rule: "the leader does not evict a host for lateness while the host is awake and connected",
  make(stage, report) {
    const { moveTimeoutMs } = timesOf(stage.plan);
    /** Since when nothing keeps a process from following orders. */
    const wellSince = new Map<Process, number>();
    let faultAt = Number.NEGATIVE_INFINITY;
    /** A leader with other settings than its hosts waits less than they may take. */
    const isHasty = stage.plan.faults.some((one) => {
      const { cluster } = (one as { settings?: Plan["settings"] }).settings ?? {};
      const roundTimeout = typeof cluster === "object" ? cluster.roundTimeout : undefined;
      return one.fault === "rolling upgrade" && Number(roundTimeout) < moveTimeoutMs + ON_THE_WAY_MS;
    });
    const troubled = (process: Process): void => void wellSince.set(process, stage.now);

    function isWell(process: Process): boolean {
      const { network } = stage.world;
      return (
        process.isAwake &&
        stage.players.every(({ host }) => {
          if (host.place === process.place) return true;
          const ways = [network.line(process.place, host.place), network.line(host.place, process.place)];
          return ways.every(({ isOpen, delayMs, loss }) => isOpen && delayMs <= MOST_DELAY_MS && loss === 0);
        })
      );
    }

    return {
      started: (_host, process) => troubled(process),
      slept: troubled,
      sent(process, _to, message) {
        const sent = message as VirtualControlMessage;
        if (sent.about === "host" && sent.message.kind === "hello") troubled(process);
      },
      stepped: every(stage, LOOK_MS, () => {
        for (const { host } of stage.players) {
          const { process } = host;
          if (process !== undefined && !isWell(process)) troubled(process);
        }
      }),
      logged(line) {
        const { who, event, fields } = line;
        // Connections may also be broken, stalled and refused, without a visible line.
        faultAt = Math.max(faultAt, troubleEnds(line) ?? faultAt);
        if (event !== "host.evicted" || isHasty) return;
        const leader = stage.player(who).host.process;
        const evicted = stage.players.find(({ planned }) => planned.name === fields?.name)?.host;
        if (leader === undefined || evicted?.process === undefined) return;
        const since = Math.max(wellSince.get(evicted.process) ?? stage.now, wellSince.get(leader) ?? stage.now);
        const ms = stage.now - since;
        if (faultAt > stage.now - UNNOTICED_MS) return;
        if (ms > moveTimeoutMs + ON_THE_WAY_MS) report(`${evicted.name} was evicted, and had been well for ${ms} ms`);
      },
    };
  },
};
