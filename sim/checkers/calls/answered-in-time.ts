// Checks that every call has an answer by its deadline, on the clock of its caller. A caller that sleeps or
// has ended is exempt.
import type { Operation } from "../../observer.ts";
import type { CheckerKind } from "../checker.ts";
import { every, labelOf } from "../looks.ts";

const LOOK_MS = 500;
/** The runtime checks deadlines in groups, a little late. */
const MARGIN_MS = 1_000;

interface Open {
  readonly deadline: number;
  /** Consecutive checks at which the caller was awake and the call was late. */
  late: number;
}

export const answeredInTime: CheckerKind = {
  name: "answered in time",
  rule: "every call has an answer by its deadline, unless its caller sleeps or has ended",
  make(stage, report) {
    const open = new Map<Operation, Open>();
    const answered = new Set<string>();
    return {
      asked(operation) {
        const { process, call } = operation;
        open.set(operation, { deadline: process.clock.monotonic() + call.timeoutMs + MARGIN_MS, late: 0 });
      },
      answered(operation) {
        if (answered.has(operation.token)) report(`${operation.token} was answered twice`);
        answered.add(operation.token);
        open.delete(operation);
      },
      stepped: every(stage, LOOK_MS, () => {
        for (const [operation, one] of open) {
          const { process, call, token } = operation;
          if (process.hasEnded) open.delete(operation);
          else if (!process.isAwake) one.late = 0;
          // Twice: a process that has just resumed has a moment to detect the timeout.
          else if (process.clock.monotonic() > one.deadline && ++one.late === 2) {
            report(`${token} on ${labelOf(call)} has no answer ${call.timeoutMs} ms and more after it was asked`);
          }
        }
      }),
    };
  },
};
