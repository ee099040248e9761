// Checks that calls of one host to one actor begin in the order in which the host made them. Calls to a
// sharded actor keep this order while the shard moves; other calls only while the actor stays on its host.
// Only after the loss of a connection or a host may a call in flight be routed again and begin after the next
// one.
import type { Process } from "../../../src/world/process.ts";
import { Calm } from "../calm.ts";
import type { CheckerKind } from "../checker.ts";
import { isSharded, labelOf, nameOf } from "../looks.ts";

export const callOrder: CheckerKind = {
  name: "in order",
  rule: "in calm times calls of one host to one actor begin in the order they were made, unless the actor moves and is not sharded",
  make(stage, report) {
    /** Calls that have not begun, in the order in which they were made, by caller and actor. */
    const made = new Map<string, string[]>();
    const keys = new Map<string, string>();
    const madeAt = new Map<string, number>();
    /**
     * A later call that has begun, by call. The earlier call may never begin: it timed out or was rejected,
     * and its caller has no answer yet.
     */
    const overtakenBy = new Map<string, { readonly op: string; readonly process: Process }>();
    const calm = new Calm(stage);
    return {
      ...calm.hooks,
      asked({ token, namespace, process, call }) {
        if (call.how.via !== undefined || call.how.outside) return;
        const key = `${process.number} ${nameOf({ namespace, type: call.type, id: call.id })}`;
        keys.set(token, key);
        madeAt.set(token, stage.now);
        const own = made.get(key) ?? [];
        made.set(key, own);
        own.push(token);
      },
      answered({ token }) {
        remove(token);
      },
      turnBegan({ life, op }) {
        const later = overtakenBy.get(op);
        const isPromised = isSharded(stage.plan, life.type) || later?.process === life.process;
        if (later !== undefined && isPromised && calm.isCalm(stage.now - madeAt.get(op)!)) {
          report(`${later.op} began on ${labelOf(life)} before ${op}, which was made earlier at the same host`);
        }
        for (const before of remove(op))
          if (!overtakenBy.has(before)) overtakenBy.set(before, { op, process: life.process });
      },
    };

    /** The call has begun, or never will. Returns earlier calls that have not begun. */
    function remove(token: string): readonly string[] {
      const key = keys.get(token);
      const own = key === undefined ? undefined : made.get(key);
      const place = own?.indexOf(token) ?? -1;
      if (own === undefined || place < 0) return [];
      own.splice(place, 1);
      return own.slice(0, place);
    }
  },
};
