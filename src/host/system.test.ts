import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { resolveSettings } from "../config/settings.ts";
import { silentLog } from "../ports/log.ts";
import { openApp } from "./app.ts";
import { systemClock, systemRandom } from "./system.ts";

describe("the random numbers of this machine", () => {
  it("ids are short, fit into a URL and are never equal", () => {
    const ids = Array.from({ length: 5_000 }, () => systemRandom.id());
    for (const id of ids) assert.match(id, /^[\w-]{22}$/);
    assert.equal(new Set(ids).size, ids.length);
    // The ids have no common part: every character occurs at every place.
    for (let place = 0; place < 21; place++) assert.equal(new Set(ids.map((id) => id[place])).size, 64);
  });
});

describe("timers longer than 2^31 milliseconds, which Node would fire at once", () => {
  it("the clock counts long timers down in parts", (t) => {
    const parts: number[] = [];
    const pending: (() => void)[] = [];
    t.mock.method(globalThis, "setTimeout", (then: () => void, ms: number) => {
      parts.push(ms);
      pending.push(then);
      return { unref() {} };
    });
    let fired = 0;
    const total = 2.5 * 2 ** 31;
    systemClock.after(total, () => {
      fired++;
    });
    while (pending.length > 0) {
      assert.equal(fired, 0);
      pending.shift()!();
    }
    assert.equal(fired, 1);
    assert.equal(parts.length, 3);
    assert.equal(
      parts.reduce((sum, ms) => sum + ms),
      total,
    );
    assert.ok(parts.every((ms) => ms <= 2 ** 31 - 1));
  });

  it("a timer, a deadline and a reminder of 30 days wait, and shorter ones do not wait for them", async (t) => {
    const overflows: string[] = [];
    const onWarning = ({ name }: Error) => void overflows.push(name);
    process.on("warning", onWarning);
    t.after(() => process.off("warning", onWarning));
    const received: string[] = [];
    const { promise: done, resolve } = Promise.withResolvers<void>();
    class Patient extends Actor {
      begin() {
        this.timers.set("long", { due: "30d" }, () => received.push("long"));
        this.timers.set("short", { due: "20ms" }, () => received.push("short"));
      }

      override onReminder(name: string) {
        received.push(name);
        resolve();
      }

      async wait() {
        await done;
        return "in time";
      }
    }
    const settings = resolveSettings({ code: { store: "memory:" }, file: false, env: {} });
    await using app = await openApp({ actors: [Patient] }, settings, { log: silentLog });
    const waiting = app.actor(Patient, "b", { timeout: "30d" }).wait();
    await app.actor(Patient, "a").begin();
    await app.reminders.set(Patient, "a", "far", { due: "30d" });
    while (!received.includes("short")) await new Promise((resume) => setTimeout(resume, 5));
    await app.reminders.set(Patient, "a", "soon", { due: "20ms" });
    assert.equal(await waiting, "in time");
    assert.deepEqual(received, ["short", "soon"]);
    assert.deepEqual(
      overflows.filter((name) => name === "TimeoutOverflowWarning"),
      [],
    );
  });
});
