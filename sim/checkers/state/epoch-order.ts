// Checks that epochs of actors and terms of leaders only increase, and that none is assigned twice.
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOf } from "../looks.ts";

export const epochOrder: CheckerKind = {
  name: "epoch order",
  rule: "every take raises the epoch, terms never go back, and a term has one leader",
  make(_stage, report) {
    const epochs = new Map<number, number>();
    const leaders = new Map<number, { readonly incarnation: string; readonly process: number }>();
    let term = 0;
    return {
      taken(_process, request, { ref, epoch }) {
        const before = epochs.get(ref) ?? 0;
        epochs.set(ref, epoch);
        if (epoch <= before) report(`${labelOf(request)} was taken in epoch ${epoch} after epoch ${before}`);
      },
      campaigned({ number }, { incarnation }, standing) {
        if (standing.term < term) report(`term ${standing.term} came after term ${term}`);
        term = Math.max(term, standing.term);
        if (!standing.leading) return;
        const leader = leaders.get(standing.term);
        if (leader === undefined) leaders.set(standing.term, { incarnation, process: number });
        else if (leader.incarnation !== incarnation) {
          const who = `${incarnation} of process ${number}`;
          report(`term ${standing.term} was given to ${leader.incarnation} of process ${leader.process} and to ${who}`);
        }
      },
      sent({ number }, _to, message) {
        const sent = message as VirtualControlMessage;
        if (sent.about !== "scheduler" || (sent.message.kind !== "order" && sent.message.kind !== "welcome")) return;
        const leader = leaders.get(sent.message.term);
        if (leader?.process !== number) {
          report(`process ${number} speaks as the leader of term ${sent.message.term}, which it never was`);
        }
      },
    };
  },
};
