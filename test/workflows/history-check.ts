// Rules of every history, whatever happened to its writers: it has no gaps, it begins with a start and ends
// once, and every result of a command came once, after it.
import assert from "node:assert/strict";
import type { RunHistoryEvent } from "../../src/workflows/client/client.ts";
import { isCommandEvent } from "../../src/workflows/engine/events.ts";

const ENDS: ReadonlySet<string> = new Set([
  "WorkflowCompleted",
  "WorkflowFailed",
  "WorkflowCancelled",
  "WorkflowContinuedAsNew",
  "WorkflowTerminated",
  "WorkflowTimedOut",
]);
/** A retried activity is not over. */
const ON_THE_WAY = "ActivityRetryScheduled";

export function checkHistory(whose: string, events: readonly RunHistoryEvent[], isOver: boolean): void {
  const where = (number: number): string => `${whose}, event ${number}`;
  let decisions = 0;
  let before = 0;
  const open = new Set<number>();
  const received = new Set<string>();
  for (const [i, { number, at, event }] of events.entries()) {
    assert.equal(number, i + 1, `${where(number)}: no gaps`);
    assert.equal(event.kind === "WorkflowStarted", i === 0, `${where(number)}: ${event.kind}`);
    assert.equal(ENDS.has(event.kind), isOver && i === events.length - 1, `${where(number)}: ${event.kind}`);
    assert.ok(at >= before, `${where(number)}: time does not go back`);
    before = at;
    if (isCommandEvent(event)) {
      assert.equal(event.n, ++decisions, `${where(number)}: decisions follow each other`);
      open.add(event.n);
    } else if ("of" in event) {
      assert.ok(open.has(event.of), `${where(number)}: ${event.kind} of something that is open`);
      if (event.kind !== ON_THE_WAY) open.delete(event.of);
    } else if ("id" in event) {
      assert.ok(!received.has(event.id), `${where(number)}: ${event.kind} for the first time`);
      received.add(event.id);
    }
  }
}
