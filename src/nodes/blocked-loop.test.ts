// A turn that blocks the event loop, on a host that really waits.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { createLog } from "../observe/log.ts";
import type { LogFields } from "../ports/log.ts";
import { eventually, TestApps } from "./cluster-kit.test.ts";

/** Nothing else of this process runs meanwhile. */
const block = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

class Blocking extends Actor<{ n: number }> {
  initial() {
    return { n: 0 };
  }

  crunch(ms: number) {
    block(ms);
    return ++this.state.n;
  }

  add() {
    return ++this.state.n;
  }
}

describe("a turn that blocks the event loop", () => {
  it("is named in the log, and the delay is in the metrics", async () => {
    await using apps = new TestApps();
    const blocked: LogFields[] = [];
    // The real log: it leaves out what it does not know.
    const write = (line: string) => {
      const fields = JSON.parse(line) as LogFields;
      if (fields.event === "loop.blocked") blocked.push(fields);
    };
    const log = createLog({ level: "warn", destination: { write } });
    const app = await apps.open([Blocking], { cluster: false }, { log });
    await app.actor(Blocking, "other").add();
    await app.actor(Blocking, "a").crunch(1_800);
    await eventually(async () => blocked.length > 0, "the log names the turn");
    assert.deepEqual(blocked[0]!.turns, ["Blocking/a.crunch"]);
    assert.ok(Number(blocked[0]!.ms) >= 1_000);
    const sum = Number(/^limpet_event_loop_delay_seconds_sum (\S+)$/m.exec(app.metrics())?.[1]);
    assert.ok(sum >= 1, `${sum}`);
  });
});
