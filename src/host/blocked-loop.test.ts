// A turn that blocks the event loop, on a host that really waits.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { createLog } from "../observe/log.ts";
import type { LogFields } from "../ports/log.ts";
import { openSqliteStore } from "../stores/sqlite/sqlite-store.ts";
import { eventually, isBusy, TestApps } from "./cluster-kit.test.ts";

/** Blocks the whole process. */
const block = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

class Blocking extends Actor<{ n: number }> {
  initial() {
    return { n: 0 };
  }

  crunch(ms: number) {
    block(ms);
    return ++this.state.n;
  }

  /** Continues after the block, when timers have run. */
  async later(ms: number) {
    block(ms);
    await new Promise((resolve) => setTimeout(resolve, 20));
    return ++this.state.n;
  }

  add() {
    return ++this.state.n;
  }
}

describe("a turn that blocks the event loop", () => {
  it("a turn that blocks the event loop is named in the log, and the metrics show the delay", async () => {
    await using apps = new TestApps();
    const blocked: LogFields[] = [];
    // The real log, which omits unknown fields.
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

  it("a turn of a lone host commits although it took longer than the lease, and other actors stay in memory", async () => {
    const folder = mkdtempSync(join(tmpdir(), "limpet-blocked-"));
    const store = await openSqliteStore(join(folder, "limpet.db"));
    {
      await using apps = new TestApps();
      // The store has to answer within a fifth of the lease.
      const leaseMs = isBusy ? 15_000 : 2_500;
      const cluster = { lease: leaseMs, leaderLease: "500ms", roundTimeout: "1500ms", moveTimeout: "500ms" } as const;
      const app = await apps.open([Blocking], { cluster }, { store });
      await Promise.all(["a", "b"].map((id) => app.actor(Blocking, id).add()));
      const leads = async () => app.host.status().scheduler?.leads === true;
      await eventually(leads, "it leads");
      const { incarnation } = (await app.host.cluster()).hosts[0]!;
      assert.equal(await app.actor(Blocking, "a").later(leaseMs), 2);
      assert.equal(app.host.types()[0]!.active, 2);
      await eventually(leads, "it leads again");
      assert.equal((await app.host.cluster()).hosts[0]!.incarnation, incarnation);
      assert.equal(await app.actor(Blocking, "b").add(), 2);
      assert.equal(Number(/^limpet_host_leases_lost_total\S* (\d+)$/m.exec(app.metrics())?.[1] ?? 0), 0);
    }
    await store.close();
    rmSync(folder, { recursive: true });
  });
});
