import assert from "node:assert/strict";
import { it } from "node:test";
import { Actor, limpet } from "../index.ts";

class Other extends Actor {
  fail(): never {
    throw new RangeError("no such thing");
  }
}
class Careless extends Actor {
  forget(): void {
    void this.actor(Other, "o").fail();
  }
}

/** Removes the listeners of the test runner, which fail a test for each unhandled rejection. */
function withoutListeners(): Disposable {
  const listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  return {
    [Symbol.dispose]: () => {
      for (const listener of listeners) process.on("unhandledRejection", listener);
    },
  };
}

it("a host counts each failed call of an actor that nothing handles, by the type of the calling actor", async () => {
  using _listeners = withoutListeners();
  const app = await limpet({
    actors: [Careless, Other],
    store: "memory:",
    cluster: false,
    http: false,
    logLevel: "silent",
  });
  const counted = () => /^limpet_unhandled_calls_total\{.*type="Careless".*\} (\d+)/m.exec(app.metrics())?.[1];
  for (let i = 0; i < 2; i++) await app.actor(Careless, "c").forget();
  const limit = performance.now() + 60_000;
  while (counted() !== "2" && performance.now() < limit) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(counted(), "2");
  await app.stop();
});
