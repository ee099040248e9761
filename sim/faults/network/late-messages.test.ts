// Messages that a fault holds back: late, in their order, and never beyond the chaos.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Prng } from "../../../src/kernel/prng.ts";
import { addressOf, type End, Network, type Patience, type Receiver } from "../../../src/world/network/network.ts";
import { Timeline } from "../../../src/world/timeline.ts";
import { Dummy } from "../../../src/world/world-kit.test.ts";
import { drawPlan } from "../../swarm/swarm.ts";
import { holdBack, lateFor } from "./late-messages.ts";

const PATIENCE: Patience = { connectMs: 2_000, tickMs: 1_000, silentTicks: 5, queue: 1_000 };
const LATE_MS = 5_000;

/** A host with connections to a leader, and all arrived messages, in order. */
class Wires {
  readonly timeline = new Timeline();
  readonly network = new Network(this.timeline, new Prng(1));
  readonly arrived: unknown[] = [];
  readonly #host = new Dummy(1);

  constructor() {
    const ears: Receiver = {
      message: (message) => void this.arrived.push(message),
      ended: (how) => void this.arrived.push(how),
    };
    this.network.listen(addressOf(2, 1), new Dummy(2), () => ears);
  }

  async connect(): Promise<End> {
    const end = this.network.connect(this.#host, addressOf(2, 1), PATIENCE, { message() {}, ended() {} });
    await this.pass(100);
    return end;
  }

  pass(ms: number): Promise<void> {
    return this.timeline.run(this.timeline.now + ms);
  }
}

describe("late messages", () => {
  it("an old connection delivers held messages in order, after those of a newer one and before its reset", async () => {
    const wires = new Wires();
    const old = await wires.connect();
    old.send("in time");
    holdBack(wires.timeline, [old, undefined], LATE_MS);
    old.send("late 1");
    old.send("late 2");
    old.reset("reset");
    const newer = await wires.connect();
    newer.send("new");
    await wires.pass(LATE_MS / 2);
    assert.deepEqual(wires.arrived, ["in time", "new"]);
    await wires.pass(LATE_MS);
    assert.deepEqual(wires.arrived, ["in time", "new", "late 1", "late 2", "reset"]);
  });

  it("a message is not held back beyond the end of the chaos", () => {
    const plan = { ...drawPlan(1), chaosMs: 20_000 };
    assert.equal(lateFor({ now: 1_000, plan }, LATE_MS), LATE_MS);
    assert.equal(lateFor({ now: 18_000, plan }, LATE_MS), 2_000);
    assert.equal(lateFor({ now: 19_900, plan }, LATE_MS), undefined);
  });
});
