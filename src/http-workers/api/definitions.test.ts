// HTTP workers with different code of a workflow, by their fingerprints: assignment of runs that are pinned
// to definitions, and the reported state.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type TestApp, testLimpet } from "../../testing.ts";
import { Api, envelope, type Json } from "./api-kit.test.ts";

const WAIT = { type: "open_condition_wait", condition_key: "k", condition_definition_fingerprint: "f" };
const DONE = { type: "complete_workflow", result: envelope("done") };
const KEEPS = { sticky_cache_enabled: true, sticky_cache_capacity: 100 };
const code = (print?: string, more: Json = {}): Json => ({
  ...KEEPS,
  ...(print !== undefined && { workflow_definition_fingerprints: { order: print } }),
  ...more,
});

class Place extends Api implements AsyncDisposable {
  readonly test: TestApp;

  constructor(test: TestApp) {
    super(test);
    this.test = test;
  }

  static async open(pinning: "build" | "definition"): Promise<Place> {
    return new Place(await testLimpet({ http: { port: 0 }, worker: { pinning } }));
  }

  now(worker: string): Promise<Json> {
    return this.task(worker, "workflow", { timeout_seconds: 0 });
  }

  async nothing(worker: string): Promise<boolean> {
    return (await this.poll(worker, "workflow", { timeout_seconds: 0 })).body.task === null;
  }

  /** A run that `w1` executed and keeps in memory, with a new task. */
  async goesOn(registers: Json, starts: Json = {}): Promise<void> {
    await this.worker("w1", registers);
    await this.start("o-1", [], starts);
    assert.equal((await this.complete(await this.now("w1"), [WAIT])).status, 200);
    await this.post("/workflows/o-1/signal/go");
  }

  async fingerprints(): Promise<[build: unknown, described: unknown, inHistory: unknown]> {
    const { body } = await this.get("/workflows/o-1");
    const history = (await this.get(`/workflows/o-1/runs/${body.run_id}/history`)).body;
    const [started] = (history.events ?? history.history_events) as { payload: Json }[];
    return [body.compatibility, body.workflow_definition_fingerprint, started!.payload.workflow_definition_fingerprint];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.test.stop();
  }
}

describe("runs pinned to definitions", () => {
  it("a pinned run is assigned to no other fingerprint, while its worker lives and when it is gone", async () => {
    await using api = await Place.open("definition");
    await api.goesOn(code("sha256:a"));
    await api.worker("w2", code("sha256:b"));
    assert.ok(await api.nothing("w2"));
    await api.test.advance("31s");
    await api.worker("w2", code("sha256:b"));
    assert.ok(await api.nothing("w2"));
    await api.test.advance("10m");
    await api.worker("w2", code("sha256:b"));
    assert.ok(await api.nothing("w2"));
    await api.worker("w3", code("sha256:a"));
    const task = await api.now("w3");
    assert.equal((task.sticky_execution as Json).replay_mode, "forced_cold_replay");
    const [started] = task.history_events as { payload: Json }[];
    assert.equal(started!.payload.workflow_definition_fingerprint, "sha256:a");
    assert.equal((await api.complete(task, [DONE])).status, 200);
  });

  it("a pinned run is assigned to no other fingerprint under the id of the worker that has it in memory", async () => {
    await using api = await Place.open("definition");
    await api.goesOn(code("sha256:a"));
    await api.send("DELETE", "/worker/registrations/w1");
    await api.worker("w1", code("sha256:b"));
    assert.ok(await api.nothing("w1"));
    await api.worker("w2", code("sha256:a"));
    assert.equal((await api.complete(await api.now("w2"), [DONE])).status, 200);
  });

  it("a worker without a fingerprint pins no run to one, and gets no pinned run", async () => {
    await using api = await Place.open("definition");
    await api.goesOn(code());
    assert.deepEqual(await api.fingerprints(), [null, null, null]);
    await api.send("DELETE", "/worker/registrations/w1");
    await api.worker("w2", code("sha256:a"));
    assert.equal((await api.complete(await api.now("w2"), [WAIT])).status, 200);
    assert.deepEqual(await api.fingerprints(), [null, "sha256:a", "sha256:a"]);
    await api.send("DELETE", "/worker/registrations/w2");
    await api.post("/workflows/o-1/signal/go");
    await api.worker("w3", code());
    assert.ok(await api.nothing("w3"));
  });

  it("a run that was started for a build is pinned to build and fingerprint, and both are reported", async () => {
    await using api = await Place.open("definition");
    await api.goesOn(code("sha256:a", { build_id: "b1" }), { build_id: "b1" });
    assert.deepEqual(await api.fingerprints(), ["b1", "sha256:a", "sha256:a"]);
    await api.send("DELETE", "/worker/registrations/w1");
    await api.worker("w2", code("sha256:b", { build_id: "b1" }));
    await api.worker("w3", code("sha256:a", { build_id: "b2" }));
    assert.ok(await api.nothing("w2"));
    assert.ok(await api.nothing("w3"));
    await api.worker("w4", code("sha256:a", { build_id: "b1" }));
    assert.equal((await api.now("w4")).compatibility, "b1");
  });

  it("a query is assigned to a worker with the code of the run", async () => {
    await using api = await Place.open("definition");
    await api.goesOn(code("sha256:a"));
    await api.worker("w2", code("sha256:b"));
    await api.send("DELETE", "/worker/registrations/w1");
    const { status, body } = await api.post("/workflows/o-1/query/state");
    assert.deepEqual([status, body.reason], [409, "query_worker_unavailable"]);
  });
});

describe("runs pinned to builds", () => {
  it("a run pinned to a build continues with another fingerprint, and none is reported", async () => {
    await using api = await Place.open("build");
    await api.goesOn(code("sha256:a"));
    assert.deepEqual(await api.fingerprints(), [null, null, null]);
    await api.send("DELETE", "/worker/registrations/w1");
    await api.worker("w2", code("sha256:b"));
    assert.equal((await api.complete(await api.now("w2"), [DONE])).status, 200);
  });
});

it("a fingerprint that is not a text, or too long, is rejected", async () => {
  await using api = await Place.open("definition");
  for (const print of [7, "x".repeat(1_001)]) {
    const { status } = await api.worker("w1", { workflow_definition_fingerprints: { order: print } });
    assert.equal(status, 422);
  }
});
