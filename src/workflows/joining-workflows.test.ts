// A joining host runs its first actors before the join is complete. These actors can use every feature.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Actor } from "../actors/actor.ts";
import { eventually, settled, TestApps } from "../host/cluster-kit.test.ts";

class Starter extends Actor<{ started: number }> {
  initial() {
    return { started: 0 };
  }

  async begin() {
    await this.workflows.start("Unheard", { id: `flow of ${this.id}` });
    return ++this.state.started;
  }
}

const gate = Promise.withResolvers<void>();

class Gated extends Actor {
  pass() {
    return gate.promise;
  }
}

const PATIENT = { lease: "60s", leaderLease: "20s", roundTimeout: "50s", moveTimeout: "40s" } as const;
const IDS = Array.from({ length: 40 }, (_, i) => `id-${i}`);

test("an actor that is called while its host still joins can start a workflow", async () => {
  await using apps = new TestApps();
  const first = await apps.open([Starter, Gated], { cluster: PATIENT });
  await settled(first, 1);
  // Some of these actors have to move and cannot yet: their type is not settled, so the second host has not
  // joined.
  const passing = Promise.all(IDS.map((id) => first.actor(Gated, id, { timeout: "40s" }).pass()));
  const opening = apps.open([Starter, Gated], { cluster: PATIENT });
  try {
    await eventually(async () => {
      const { tables } = await first.host.cluster();
      return tables.some(({ type, hosts, phase }) => type === "Starter" && hosts.length === 2 && phase === "settled");
    }, "a second host of the type that nothing holds up");
    const begun = await Promise.all(IDS.map((id) => first.actor(Starter, id, { timeout: "20s" }).begin()));
    assert.ok(begun.every((count) => count === 1));
    const { tables } = await first.host.cluster();
    assert.notEqual(tables.find(({ type }) => type === "Gated")!.phase, "settled");
  } finally {
    gate.resolve();
  }
  await passing;
  await opening;
});
