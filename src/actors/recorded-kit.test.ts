// An actor for tests that records when it enters and leaves memory.
import { Actor, type DeactivationReason } from "../index.ts";

/** `+a` when the actor `a` is activated, `-a idle` when it leaves. Tests clear it. */
export const events: string[] = [];

export class Recorded extends Actor<{ n: number }> {
  initial() {
    return { n: 0 };
  }
  override onActivate() {
    events.push(`+${this.id}`);
  }
  override async onDeactivate(reason: DeactivationReason) {
    await new Promise((resolve) => setImmediate(resolve));
    events.push(`-${this.id} ${reason}`);
  }
  inc() {
    return ++this.state.n;
  }
}
