// Calls that one host makes to one actor of a shard begin in the order in which they were made, also if its shard moves meanwhile. Only when a
// connection or a host is lost may one that was under way find another way, and come later than the next.
import { Calm } from "./calm.ts";
import type { CheckerKind } from "./checker.ts";
import { isSharded, labelOf, nameOf } from "./looks.ts";

/** Clocks differ a little. */
const IN_TIME = 0.9;

export const shardOrder: CheckerKind = {
  name: "in order",
  rule: "in calm times calls of one host to one actor of a shard begin in the order they were made",
  make(stage, report) {
    if (stage.plan.sharded === undefined) return {};
    /** By caller and actor: the calls that were made, in order, and have not begun. */
    const made = new Map<string, string[]>();
    const keys = new Map<string, string>();
    const madeAt = new Map<string, number>();
    /** Who is out of time begins no more, though its caller may not have heard of it yet. */
    const begins = new Map<string, number>();
    const calm = new Calm(stage);
    return {
      started: calm.started,
      gone: calm.gone,
      slept: calm.slept,
      told: (line) => calm.told(line),
      stepped: calm.stepped,
      asked({ token, namespace, process, call }) {
        if (!isSharded(stage.plan, call.type) || call.how.via !== undefined || call.how.outside) return;
        const key = `${process.number} ${nameOf({ namespace, type: call.type, id: call.id })}`;
        keys.set(token, key);
        madeAt.set(token, stage.now);
        begins.set(token, stage.now + call.timeoutMs * IN_TIME);
        const own = made.get(key) ?? [];
        made.set(key, own);
        own.push(token);
      },
      answered({ token }) {
        remove(token);
      },
      turnBegan({ life, op }) {
        const before = remove(op);
        if (before === undefined || !calm.isCalm(stage.now - madeAt.get(before)!)) return;
        report(`${op} begins on ${labelOf(life)} before ${before}, which was made earlier at the same host`);
      },
    };

    /** It has begun, or never will. Gives the oldest of those that were made before and have not. */
    function remove(token: string): string | undefined {
      const key = keys.get(token);
      const own = key === undefined ? undefined : made.get(key);
      const place = own?.indexOf(token) ?? -1;
      if (own === undefined || place < 0) return undefined;
      own.splice(place, 1);
      return own.slice(0, place).find((other) => begins.get(other)! > stage.now);
    }
  },
};
