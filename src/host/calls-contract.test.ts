// One contract for calls: the same cases to an actor of the same process, of another host, and over HTTP.
// Code that works with a local actor works with a remote one.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { connect } from "../client.ts";
import { Actor, type CallSettings, isLimpetError, LimpetError, type Remote } from "../index.ts";
import { LIMITS } from "../kernel/limits.ts";
import { TestApps } from "./cluster-kit.test.ts";

const MiB = 1024 * 1024;

class OutOfStock extends Error {
  override readonly name = "OutOfStock";
  readonly code = "E_STOCK";
  readonly details: unknown;
  /** Errors of HTTP libraries have such a field. */
  readonly request = { headers: { authorization: "Bearer secret" } };

  constructor(details: unknown) {
    super("there is no more tea", { cause: new TypeError("no shelf", { cause: "a text" }) });
    this.details = details;
  }
}

const VALUES = {
  date: new Date(5),
  map: new Map([["a", new Set([1n, undefined, Number.NaN, -0])]]),
  bytes: new Uint8Array([1, 2, 3]),
  text: "\u2028 \u0000 ü 💚",
};

const THROWN: Record<string, () => unknown> = {
  own: () => new OutOfStock({ sku: "tea", since: new Date(5) }),
  "own, with details that no process could get": () => new OutOfStock({ log: () => {} }),
  "own, with large details": () => new OutOfStock("x".repeat(LIMITS.errorDetailsBytes)),
  type: () => new TypeError("undefined is not a function"),
  range: () => new RangeError("too far"),
  limpet: () => new LimpetError("WORKFLOW_FAILED", "no tea", { cause: new OutOfStock(1) }),
  text: () => "a text",
  nothing: () => undefined,
  object: () => ({ a: 1 }),
  frozen: () => Object.freeze(new Error("cold")),
};

class Shop extends Actor {
  echo(...values: unknown[]) {
    return values;
  }
  none() {}
  size(text: string) {
    return text.length;
  }
  large(length: number) {
    return "x".repeat(length);
  }
  numbers(length: number) {
    return new Array<number>(length).fill(1.5);
  }
  odd() {
    return { log: () => {} };
  }
  async slow() {
    await new Promise((resolve) => this.signal.addEventListener("abort", resolve));
  }
  fail(how: string) {
    throw THROWN[how]!();
  }
}

interface Way extends AsyncDisposable {
  shop(settings?: CallSettings): Remote<Shop>;
}

const WAYS: Record<string, () => Promise<Way>> = {
  "in the same process": async () => {
    const apps = new TestApps();
    const app = await apps.open([Shop]);
    return {
      shop: (settings) => app.actor(Shop, "a", settings),
      [Symbol.asyncDispose]: () => apps[Symbol.asyncDispose](),
    };
  },
  "on another host": async () => {
    const apps = new TestApps();
    await apps.open([Shop]);
    const caller = await apps.open([]);
    return {
      shop: (settings) => caller.actor(Shop, "a", settings),
      [Symbol.asyncDispose]: () => apps[Symbol.asyncDispose](),
    };
  },
  "over HTTP": async () => {
    const apps = new TestApps();
    const app = await apps.open([Shop], { http: { port: 0 } });
    const client = connect({ url: app.url! });
    return {
      shop: (settings) => client.actor(Shop, "a", settings),
      async [Symbol.asyncDispose]() {
        await client.close();
        await apps[Symbol.asyncDispose]();
      },
    };
  },
};

const MOST_ATTEMPTS = 20;

/**
 * Repeats a call that was not delivered, as its error advises. Client and server share one process here. On a
 * busy machine large values block the process so long that the server gives up the rest of a request.
 */
async function arrived<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (!isLimpetError(error, "REQUEST_TIMEOUT") || attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

async function thrownBy(call: Promise<unknown>): Promise<Error & { code?: unknown; details?: unknown }> {
  return call.then(
    () => assert.fail("it was answered"),
    (error: Error) => error,
  );
}

/** All parts of an error that code may read. */
function shown(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, cause, code, details, ...rest } = error as Error & { code?: unknown; details?: unknown };
  return { name, message, code, details, rest, cause: shown(cause), classes: classesOf(error) };
}

const classesOf = (error: Error): string[] =>
  [OutOfStock, LimpetError, TypeError, RangeError].filter((each) => error instanceof each).map(({ name }) => name);

const plain = (name: string, message: string, more = {}) => ({
  name,
  message,
  code: undefined,
  details: undefined,
  rest: {},
  cause: undefined,
  classes: [],
  ...more,
});

const NO_SHELF = plain("TypeError", "no shelf", {
  classes: ["TypeError"],
  cause: plain("Error", "a text"),
});
const outOfStock = (details: unknown) =>
  plain("OutOfStock", "there is no more tea", { code: "E_STOCK", details, cause: NO_SHELF });

const EXPECTED: Record<keyof typeof THROWN, unknown> = {
  own: outOfStock({ sku: "tea", since: new Date(5) }),
  "own, with details that no process could get": outOfStock(undefined),
  "own, with large details": outOfStock(undefined),
  type: plain("TypeError", "undefined is not a function", { classes: ["TypeError"] }),
  range: plain("RangeError", "too far", { classes: ["RangeError"] }),
  limpet: plain("LimpetError", "no tea", {
    code: "WORKFLOW_FAILED",
    classes: ["LimpetError"],
    cause: { ...outOfStock(undefined) },
  }),
  text: plain("Error", "a text"),
  nothing: plain("Error", "a value of type undefined was thrown"),
  object: plain("Error", "a value of type object was thrown"),
  frozen: plain("Error", "cold"),
};

for (const [way, open] of Object.entries(WAYS)) {
  describe(`a call to an actor ${way}`, () => {
    let chosen: Way;
    before(async () => {
      chosen = await open();
    });
    after(() => chosen[Symbol.asyncDispose]());

    it("a call carries values exactly in both directions, and calls without values work", async () => {
      assert.deepEqual(await chosen.shop().echo(VALUES, undefined, 5n), [VALUES, undefined, 5n]);
      assert.equal(await chosen.shop().none(), undefined);
      assert.deepEqual(await chosen.shop().echo(), []);
    });

    it("a call shares no object with its arguments or its result", async () => {
      const list = [1];
      const answer = chosen.shop().echo(list);
      list.push(2);
      const [copy] = (await answer) as [number[]];
      assert.deepEqual(copy, [1]);
      assert.notEqual(copy, list);
    });

    for (const how of Object.keys(THROWN)) {
      it(`the caller gets a copy of the error that the method throws: ${how}`, async () => {
        assert.deepEqual(shown(await thrownBy(chosen.shop().fail(how))), EXPECTED[how]);
      });
    }

    it("a call carries up to 15 MiB, and a larger value is rejected with the same error", async () => {
      const shop = chosen.shop({ timeout: "10m" });
      assert.equal(await arrived(() => shop.size("x".repeat(14 * MiB))), 14 * MiB);
      assert.equal((await arrived(() => shop.large(14 * MiB))).length, 14 * MiB);
      const argument = await thrownBy(arrived(() => shop.size("x".repeat(30 * MiB))));
      assert.ok(isLimpetError(argument, "ARGUMENT_INVALID"), String(argument));
      assert.match(argument.message, /^the arguments of a call must be at most 15728640 bytes/);
      for (const call of [() => shop.large(30 * MiB), () => shop.numbers(4 * MiB)]) {
        const error = await thrownBy(arrived<unknown>(call));
        assert.ok(isLimpetError(error, "RESULT_INVALID"), String(error));
        assert.match(error.message, /^the result of a call must be at most 15728640 bytes/);
      }
    });

    it("an argument that is not a value is rejected", async () => {
      assert.ok(isLimpetError(await thrownBy(chosen.shop().echo(() => {})), "ARGUMENT_INVALID"));
      assert.ok(isLimpetError(await thrownBy(chosen.shop().odd()), "RESULT_INVALID"));
    });

    it("a call fails with the same codes for an unknown method and for a timeout", async () => {
      const shop = chosen.shop() as Remote<Shop> & { nothing(): Promise<void> };
      assert.ok(isLimpetError(await thrownBy(shop.nothing()), "METHOD_UNKNOWN"));
      assert.ok(isLimpetError(await thrownBy(chosen.shop({ timeout: "50ms" }).slow()), "CALL_TIMEOUT"));
    });
  });
}
