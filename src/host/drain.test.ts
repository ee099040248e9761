// An operator drains hosts, and looks at the cluster.
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { describe, it } from "node:test";
import { eventually, Other, settled, Tally, TestApps } from "./cluster-kit.test.ts";

describe("a drained host", () => {
  it("a drained host keeps actors that no other host can take, until one can", async () => {
    await using apps = new TestApps();
    const one = await apps.open([Tally, Other]);
    assert.equal(await one.actor(Tally, "a").add(), 1);
    const { address } = one.host.status();
    await one.host.drain(address!);
    assert.equal(await one.actor(Tally, "a").add(), 2);
    const two = await apps.open([Tally]);
    const isOwner = async () => (await one.host.where("Tally", "a")).owner === two.host.status().address;
    await eventually(isOwner, "the other host has taken over");
    assert.equal(await one.actor(Tally, "a").add(), 3);
    assert.equal((await two.host.where("Tally", "a")).activeHere, true);
    assert.equal(await two.actor(Other, "a").ping(), "pong");
  });

  it("a drained host is named by its address when several hosts have the same name", async () => {
    await using apps = new TestApps();
    const [one, two] = [await apps.open([Tally]), await apps.open([Tally])];
    await settled(one, 2);
    await assert.rejects(one.host.drain(hostname()), (error: Error & { code?: string }) => {
      assert.equal(error.code, "ARGUMENT_INVALID");
      assert.ok(error.message.includes(two.host.status().address!));
      return true;
    });
    await settled(one, 2);
    await one.host.drain(two.host.status().address!);
    await settled(one, 1);
  });

  it("a host can be drained only from its own namespace", async () => {
    await using apps = new TestApps();
    const [one, stranger] = [await apps.open([Tally]), await apps.open([Tally], { namespace: "strange" })];
    const { address } = stranger.host.status();
    await assert.rejects(one.host.drain(address!), { code: "HOST_UNKNOWN" });
    const [ours, theirs] = await Promise.all([one.host.cluster(), stranger.host.cluster()]);
    assert.deepEqual(new Set(ours.hosts.map(({ namespace }) => namespace)), new Set(["default"]));
    assert.deepEqual(new Set(theirs.tables.map(({ namespace }) => namespace)), new Set(["strange"]));
    const scheduler = await apps.open([], {}, { dedicated: true });
    await eventually(async () => {
      const { hosts } = await scheduler.host.cluster().catch(() => ours);
      return hosts.some(({ namespace }) => namespace === "strange");
    }, "a dedicated scheduler sees all of them");
    assert.equal(await stranger.actor(Tally, "a").add(), 1);
  });
});
