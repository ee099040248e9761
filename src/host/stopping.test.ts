// A process stops under unfavourable conditions.
import assert from "node:assert/strict";
import { it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { resolveSettings } from "../config/settings.ts";
import { LimpetError } from "../kernel/errors.ts";
import { silentLog } from "../ports/log.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { testLimpet } from "../testing.ts";
import { HTTP_LIMITS } from "../wire/http/limits.ts";
import { workflow } from "../workflows/definition/definition.ts";
import { openApp } from "./app.ts";
import { eventually, LEASES, SHORT_LEASES, settled, Tally, TestApps } from "./cluster-kit.test.ts";

it("a call that waits for a lease ends when its process stops", async () => {
  await using apps = new TestApps();
  const scheduler = await apps.open([], { cluster: SHORT_LEASES }, { dedicated: true });
  const { address } = scheduler.host.status().scheduler!;
  const app = await apps.open([Tally], { cluster: SHORT_LEASES, schedulers: [address!], drainTimeout: "100ms" });
  assert.equal(await app.actor(Tally, "a").add(), 1);
  await scheduler.stop();
  await eventually(async () => app.host.types()[0]!.active === 0, "its lease is over");
  const call = app.actor(Tally, "a").add();
  await Promise.all([assert.rejects(call, { code: "STOPPING" }), app.stop()]);
});

it("hosts that stop one after the other, the leader first, leave nothing that other hosts must wait for", async () => {
  await using apps = new TestApps();
  const cluster = { ...LEASES, lease: "30s", failover: "lease" } as const;
  const [leader, second, last] = [
    await apps.open([Tally], { cluster }),
    await apps.open([Tally], { cluster }),
    await apps.open([Tally], { cluster }),
  ];
  await settled(last, 3);
  const ids = Array.from({ length: 30 }, (_, i) => `id-${i}`);
  await Promise.all(ids.map((id) => last.actor(Tally, id).add()));
  await leader.stop();
  await second.stop();
  const counts = await Promise.all(ids.map((id) => last.actor(Tally, id, { timeout: "60s" }).add()));
  assert.deepEqual(new Set(counts), new Set([2]));
});

it("a stop takes no longer than the drain timeout in all, with a hanging activity, job and turn", async () => {
  class Endless extends Actor {
    async go() {
      await new Promise(() => {});
    }
  }
  const never = (): Promise<void> => new Promise(() => {});
  const stuck = workflow("stuck", async (ctx) => ctx.activity(never, undefined));
  const app = await testLimpet({ actors: [Endless], workflows: [stuck], activities: { never }, drainTimeout: "10s" });
  const call = assert.rejects(app.actor(Endless, "e", { timeout: "1h" }).go(), { code: "CALL_CANCELLED" });
  await app.workflows.start(stuck, { input: undefined });
  let isRunning = false;
  await app.jobs.set("report", { due: 0 }, () => {
    isRunning = true;
    return never();
  });
  await app.advance("1s");
  assert.ok(isRunning);
  // Time advances by this much and no further, so a longer stop would hang.
  await app.stop();
  await call;
});

it("a stopped process takes no more actors, even if the store had not answered yet", async () => {
  let takes = 0;
  class Refusing extends MemoryStore {
    override async take(): Promise<never> {
      takes++;
      throw new LimpetError("STORE_UNAVAILABLE", "not now");
    }
  }
  const settings = { storeTimeout: "5m", callTimeout: "5m", drainTimeout: "2s" } as const;
  const app = await testLimpet({ actors: [Tally], stateStore: new Refusing(), ...settings });
  const call = app.actor(Tally, "a").add();
  call.catch(() => {});
  await app.advance("5s");
  const stopped = app.stop();
  await app.advance("10s");
  await stopped;
  await assert.rejects(call);
  const before = takes;
  await app.advance("1m");
  assert.equal(takes, before);
});

it("an HTTP caller gets the result of a turn that a stop waits for longer than the server's own limit", async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const turnMs = HTTP_LIMITS.drainMs + 1_000;
  class Slow extends Actor {
    async go() {
      begin();
      await new Promise((resolve) => setTimeout(resolve, turnMs));
      return "answered";
    }
  }
  const code = { store: "memory:", cluster: false, http: { port: 0 }, drainTimeout: "60s" } as const;
  const app = await openApp({ actors: [Slow] }, resolveSettings({ code, file: false, env: {} }), { log: silentLog });
  const answer = fetch(`${app.url}/v1.0/actors/Slow/a/method/go`, { method: "POST" }).then((response) =>
    response.json(),
  );
  answer.catch(() => {});
  await begun;
  await app.stop();
  assert.equal(await answer, "answered");
});
