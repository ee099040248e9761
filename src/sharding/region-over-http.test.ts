// Messages over HTTP that name their actor themselves.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { sharded } from "../actors/options/sharded-options.ts";
import { limpet } from "../host/app.ts";

class Cart extends Actor<{ lines: string[] }> {
  static options = { placement: sharded() };
  initial() {
    return { lines: [] as string[] };
  }
  put(line: string, times = 1) {
    for (let i = 0; i < times; i++) this.state.lines.push(line);
    return [this.id, this.state.lines.length];
  }
  count() {
    return this.state.lines.length;
  }
}

class Counter extends Actor<{ count: number }> {
  static options = {
    placement: sharded({ messageId: (message: { counter: string }) => message.counter }),
  };
  initial() {
    return { count: 0 };
  }
  add({ by }: { counter: string; by: number }) {
    this.state.count += by;
    return [this.id, this.state.count];
  }
}

describe("a message over HTTP", () => {
  it("a message reaches the actor that it names, in an envelope or by itself, and one without a name is rejected", async () => {
    const app = await limpet({ actors: [Cart, Counter], store: "memory:", http: { port: 0 }, logLevel: "error" });
    await using _ = app;
    const send = async (path: string, body: unknown, verb = "POST"): Promise<[number, unknown]> => {
      const answer = await fetch(`${app.url}/v1.0/actors/${path}`, {
        method: verb,
        ...(verb === "GET" ? {} : { body: JSON.stringify(body) }),
      });
      const parsed = (await answer.json()) as { errorCode?: string };
      return [answer.status, parsed.errorCode ?? parsed];
    };
    assert.deepEqual(await send("Cart/method/put", { id: "alice", message: "tea" }), [200, ["alice", 1]]);
    assert.deepEqual(await send("Cart/method/put", [{ id: "alice", message: "milk" }, 2]), [200, ["alice", 3]]);
    assert.deepEqual(await send("Cart/method/count", { id: "alice" }, "PUT"), [200, 3]);
    assert.deepEqual(await send("Counter/method/add", { counter: "a", by: 2 }), [200, ["a", 2]]);
    assert.deepEqual(await send("Counter/method/add", { by: 2 }), [400, "ARGUMENT_INVALID"]);
    assert.deepEqual(await send("Cart/method/put", "tea"), [400, "ARGUMENT_INVALID"]);
    assert.deepEqual(await send("Cart/method/put", { id: "a/b", message: "tea" }), [400, "NAME_INVALID"]);
    assert.deepEqual(await send("Cart/method/none", { id: "alice" }), [404, "METHOD_UNKNOWN"]);
    assert.deepEqual(await send("Nobody/method/put", { id: "alice" }), [404, "ACTOR_TYPE_UNKNOWN"]);
    assert.deepEqual(await send("Cart/method/put", undefined, "GET"), [405, "VERB_NOT_ALLOWED"]);
  });
});
