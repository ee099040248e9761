// A process that calls actors and hosts none, through the address of a scheduler.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { connect } from "../client.ts";
import { resolveSettings } from "../config/settings.ts";
import { silentLog } from "../ports/log.ts";
import { NO_SECURITY } from "../wire/cluster-security.ts";
import { openLinks } from "../wire/link/links.ts";
import { type App, openApp } from "./app.ts";
import { eventually, LEASES, settled, Tally, TestApps } from "./cluster-kit.test.ts";

const KEYED = { keys: ["a-key-of-a-cluster-in-a-test"] };

const schedulerOf = (app: App): string => app.host.status().scheduler!.address!;

describe("a client of a cluster", () => {
  it("a client calls actors on their hosts, also after the actors moved", async () => {
    await using apps = new TestApps(KEYED);
    const scheduler = await apps.open([], {}, { dedicated: true });
    const one = await apps.open([Tally]);
    await using client = connect({ schedulers: [schedulerOf(scheduler)], keys: KEYED.keys });
    const ids = Array.from({ length: 20 }, (_, i) => `id-${i}`);
    const add = (): Promise<number[]> => Promise.all(ids.map((id) => client.actor(Tally, id).add()));
    assert.deepEqual(new Set(await add()), new Set([1]));
    const two = await apps.open([Tally]);
    await settled(one, 2);
    assert.deepEqual(new Set(await add()), new Set([2]));
    assert.ok(two.host.types()[0]!.active > 0);
    await one.stop();
    assert.deepEqual(new Set(await add()), new Set([3]));
    await assert.rejects(client.actor<Tally>("Nothing", "a").add(), { code: "NO_HOST" });
    await assert.rejects(client.actor<Tally & { none(): void }>("Tally", "a").none(), { code: "METHOD_UNKNOWN" });
  });

  it("a client continues with another scheduler when its scheduler is gone", async () => {
    await using apps = new TestApps(KEYED);
    const first = await apps.open([], {}, { dedicated: true });
    await apps.open([Tally]);
    // The first scheduler never existed, and the second one stops; the client learns the others from it.
    await using client = connect({ schedulers: ["127.0.0.1:1", schedulerOf(first)], keys: KEYED.keys });
    assert.equal(await client.actor(Tally, "a").add(), 1);
    const second = await apps.open([], {}, { dedicated: true });
    await eventually(async () => schedulerOf(second) !== undefined, "the second scheduler listens");
    await first.stop();
    const three = await apps.open([Tally]);
    await settled(three, 2);
    const ids = Array.from({ length: 20 }, (_, i) => `id-${i}`);
    await Promise.all(ids.map((id) => client.actor(Tally, id, { timeout: "10s" }).add()));
    assert.ok(three.host.types()[0]!.active > 0);
  });

  it("a client that never calls opens no connection, so its process can end", async () => {
    await using apps = new TestApps();
    const scheduler = await apps.open([], {}, { dedicated: true });
    const program = `
      import { connect } from ${JSON.stringify(import.meta.resolve("../client.ts"))};
      connect({ schedulers: [process.argv[1]] });
    `;
    const options = ["--conditions=limpet-source", "--input-type=module", "-e", program, schedulerOf(scheduler)];
    await promisify(execFile)(process.execPath, options, { timeout: 600_000 });
  });

  it("a client keeps its process while a call waits, and the timeout error names the reason", async () => {
    const program = `
      import { connect } from ${JSON.stringify(import.meta.resolve("../client.ts"))};
      const client = connect({ schedulers: ["127.0.0.1:1"], timeout: "300ms" });
      await client.actor("Tally", "a").add().catch((error) => console.log(error.code, error.message));
      await client.close();
    `;
    const options = ["--conditions=limpet-source", "--input-type=module", "-e", program];
    const { stdout } = await promisify(execFile)(process.execPath, options, { timeout: 600_000 });
    assert.match(stdout, /^NOT_READY .*no scheduler answers at/);
  });
});

describe("a cluster without a key", () => {
  it("a process on the same machine that cannot read the store reads no table and calls no actor", async () => {
    const folder = await mkdtemp(join(tmpdir(), "limpet-secret-"));
    const store = join(folder, "limpet.db");
    const settings = resolveSettings({ code: { store, cluster: { ...LEASES } }, file: false, env: {} });
    const scheduler = await openApp({ actors: [] }, settings, { log: silentLog, dedicated: true });
    const app = await openApp({ actors: [Tally] }, settings, { log: silentLog });
    try {
      const schedulers = [schedulerOf(scheduler)];
      await using neighbour = connect({ schedulers, timeout: "500ms" });
      await assert.rejects(neighbour.actor(Tally, "a").add(), { code: "NOT_READY" });
      await using host = connect({ schedulers, store });
      assert.equal(await host.actor(Tally, "a").add(), 1);
      // The link of the host itself, past the scheduler.
      const links = openLinks({ address: "", namespace: "default", security: NO_SECURITY, log: silentLog });
      const call = { namespace: "default", type: "Tally", id: "a", method: "add", args: [], timeoutMs: 5_000 };
      const outcome = await new Promise<string>((resolve) => {
        const { address } = app.host.status();
        const settle = (how: string) => () => resolve(how);
        const caller = { value: settle("value"), error: settle("error"), notOwner: settle("notOwner") };
        const more = { hops: 0, passOn: true, causes: [] };
        links.call(address!, { ...call, ...more }, { ...caller, unsent: settle("unsent"), lost: settle("lost") });
      });
      await links.close();
      assert.equal(outcome, "unsent");
      assert.equal(await host.actor(Tally, "a").add(), 2);
    } finally {
      await app.stop();
      await scheduler.stop();
      await rm(folder, { recursive: true });
    }
  });
});
