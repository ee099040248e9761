// Sticky actors for operators: the commands and the metrics of a cluster of real processes.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StickyActor, Whereabouts } from "../../src/ports/host-admin.ts";
import { runCli, spawnCli } from "../support/cli.ts";
import { freePort } from "../support/free-port.ts";
import { tempPlace } from "../support/two-stores.ts";
import { until } from "./callers.ts";
import { livingAt, StickyCluster, someIds } from "./sticky-cluster.ts";

const COUNT = 60;

describe("an operator of a cluster with sticky actors", { timeout: 600_000 }, () => {
  test("an operator sees the holder of each actor and since when, places one anew, and finds it all in the metrics", async (t) => {
    await using place = await tempPlace();
    await using cluster = new StickyCluster(t, place, { lease: "20s", leaderLease: "3s" });
    const ports = [await freePort(), await freePort(), await freePort()];
    const one = await cluster.start("one", { httpPort: ports[0] });
    const two = await cluster.start("two", { httpPort: ports[1] });
    await cluster.settled(2);
    const ids = someIds("actor", COUNT);
    const homes = await cluster.fill(ids, [one, two]);
    await cluster.start("three", { httpPort: ports[2] });
    await cluster.settled(3);
    /** Every process gives the same answer. */
    const env = (port = ports[2]!) => ({ LIMPET_URL: `http://127.0.0.1:${port}` });
    const cli = (...argv: string[]) => runCli(argv, { env: env(), cwd: place.folder });
    const output = async (...argv: string[]): Promise<string> => {
      const { code, stdout, stderr } = await cli(...argv);
      assert.deepEqual([code, stderr], [0, ""], stdout);
      return stdout;
    };

    await t.test("how many each host holds", async () => {
      const text = await output("sticky");
      assert.match(text, new RegExp(`^Tally: ${COUNT} sticky actors\\.\nWhen a host is lost, `));
      for (const name of ["one", "two"]) {
        assert.match(text, new RegExp(`^\\S+ +${name} +${livingAt(homes, name).length}$`, "m"));
      }
      assert.doesNotMatch(text, /three/);
      const asProcess = await spawnCli(["sticky"], { cwd: place.folder, env: env(ports[0]) });
      assert.equal(asProcess.stdout, text);
      const { types } = JSON.parse(await output("sticky", "--json"));
      assert.deepEqual([types.length, types[0].type, types[0].lost, types[0].holders.length], [1, "Tally", 0, 2]);
      assert.match(await output("ps"), new RegExp(`^Tally +\\d+ .*settled +3 +${COUNT}\\b`, "m"));
    });

    await t.test("each of them, all of them, and those whose ids begin alike", async () => {
      const { actors } = JSON.parse(await output("sticky", "Tally", "--all", "--json")) as { actors: StickyActor[] };
      assert.deepEqual(new Map(actors.map(({ id, name }) => [id, name])), new Map([...homes].sort()));
      const some = await cli("sticky", "Tally", "--limit", "7");
      assert.equal(some.stdout.trim().split("\n").length, 8);
      assert.match(some.stderr, /Only the first 7 are shown/);
      const alike = await output("sticky", "Tally", "--prefix", "actor 4");
      assert.equal(alike.trim().split("\n").length, 1 + ids.filter((id) => id.startsWith("actor 4")).length);
      const nothing = await cli("sticky", "Tally", "--prefix", "nobody");
      assert.deepEqual([nothing.code, nothing.stdout], [0, ""]);
      assert.match(nothing.stderr, /No host holds an actor of Tally whose id begins with nobody/);
      assert.match((await cli("sticky", "Taly")).stderr, /no type Taly.*Tally/);
    });

    const answers = await Promise.all(
      ids.map(async (id) => JSON.parse(await output("where", "Tally", id, "--json")) as Whereabouts),
    );
    const astray = answers.find(({ sticky }) => sticky?.ringName === "three")!;
    const { id } = astray;
    const home = homes.get(id)!;

    await t.test("where one lives and what the ring says about it", async () => {
      for (const { id, ownerName, sticky, here } of answers) {
        assert.deepEqual([ownerName, here, sticky?.away], [homes.get(id), false, false]);
      }
      const text = await output("where", "Tally", id);
      assert.match(text, new RegExp(`^Tally/${id} lives on ${home} \\(\\S+\\)\\.`));
      assert.match(text, /Sticky there since .*, although the ring assigns three \(\S+\)\./);
      assert.match(
        await output("sticky", "Tally", id),
        new RegExp(`is held by ${home} \\(\\S+\\)\\.\nSticky there since`),
      );
      // This actor has no calls.
      const stranger = JSON.parse(await output("where", "Tally", "stranger", "--json")) as Whereabouts;
      assert.equal(stranger.sticky, undefined);
      const unheld = await cli("sticky", "Tally", "stranger");
      assert.equal(unheld.code, 1);
      assert.match(unheld.stderr, /no host holds Tally\/stranger/);
    });

    await t.test("that one that was let go is placed where the ring says, with its state", async () => {
      const before = await one.add(id, "before");
      const released = await spawnCli(["sticky", "Tally", id, "--release"], { cwd: place.folder, env: env(ports[1]) });
      assert.deepEqual([released.code, released.stderr], [0, ""], released.stdout);
      assert.match(
        released.stdout,
        new RegExp(`^${home} \\(\\S+\\) releases Tally/${id} .* The next call places it again\\.`),
      );
      await until(async () => (await cli("sticky", "Tally", id)).code === 1, "nobody holds it");
      assert.equal(await two.add(id, "after"), before + 1);
      assert.deepEqual(await cluster.homes(ids), new Map([...homes, [id, "three"]]));
      assert.deepEqual((await cluster.lives()).get(id), [home, "three"]);
      const again = await cli("sticky", "Tally", "stranger", "--release");
      assert.equal(again.code, 1);
      assert.match(again.stderr, /no host holds Tally\/stranger/);
      const whole = await cli("sticky", "Tally", "--release");
      assert.equal(whole.code, 2);
    });

    await t.test("the figures of hosts and of the leader", async () => {
      const texts = await Promise.all(
        ports.map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
      );
      const sum = (name: string): number =>
        texts
          .flatMap((text) => text.split("\n").filter((line) => line.startsWith(name)))
          .reduce((all, line) => all + Number(line.slice(line.lastIndexOf(" "))), 0);
      assert.equal(sum('limpet_scheduler_sticky_actors{namespace="default",type="Tally"}'), COUNT);
      assert.equal(sum("limpet_host_sticky_actors{"), COUNT);
      assert.equal(sum("limpet_host_sticky_granted_total{"), COUNT + 1);
      assert.equal(sum("limpet_host_sticky_released_total{"), 1);
      assert.equal(sum("limpet_host_sticky_cleared_total{"), 0);
      assert.ok(sum('limpet_host_sticky_cache_total{namespace="default",result="hit"') > 0);
    });
    await cluster.audit();
  });
});
