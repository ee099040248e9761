import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { addressed, type MessageId } from "./message-id.ts";

const say = (args: readonly unknown[], own?: MessageId) => addressed("Counter", "add", args, own);
const refused = (what: () => unknown, code: string, text: RegExp) =>
  assert.throws(what, (error) => isLimpetError(error) && error.code === code && text.test(error.message));

describe("a message without an extractor", () => {
  it("is an envelope, of which the actor gets what is inside", () => {
    assert.deepEqual(say([{ id: "a", message: { by: 2 } }]), { id: "a", args: [{ by: 2 }] });
    assert.deepEqual(say([{ id: "a", message: 2 }, "more"]), { id: "a", args: [2, "more"] });
  });

  it("may be an envelope with nothing inside", () => {
    assert.deepEqual(say([{ id: "a" }]), { id: "a", args: [] });
    assert.deepEqual(say([{ id: "a" }, "more"]), { id: "a", args: [undefined, "more"] });
  });

  it("is refused if it says not for whom it is", () => {
    for (const message of [undefined, null, 7, "a", {}, { id: 7 }, []]) {
      refused(() => say([message]), "ARGUMENT_INVALID", /must be an envelope/);
    }
    refused(() => say([{ counter: "a" }]), "ARGUMENT_INVALID", /, not one without an id$/);
    refused(() => say(["tea ".repeat(1_000)]), "ARGUMENT_INVALID", /, not a text$/);
    refused(() => say([{ id: "" }]), "NAME_INVALID", /./);
    refused(() => say([{ id: "a/b" }]), "NAME_INVALID", /./);
  });
});

describe("a message with an extractor", () => {
  it("reaches the actor as it is when that gives an id", () => {
    const own = (message: { counter: string }) => message.counter;
    assert.deepEqual(say([{ counter: "a", by: 2 }, 3], own), { id: "a", args: [{ counter: "a", by: 2 }, 3] });
  });

  it("reaches it as what is in the envelope that it gives", () => {
    const own = ([id, by]: [string, number]) => ({ id, message: by });
    assert.deepEqual(say([["a", 2]], own), { id: "a", args: [2] });
  });

  it("is refused when that throws or gives nonsense", () => {
    const throws = () => {
      throw new TypeError("no counter");
    };
    refused(
      () => say([{}], throws),
      "ARGUMENT_INVALID",
      /messageId of Counter failed on a message for add: no counter/,
    );
    for (const nonsense of [7, null, {}, { id: 7 }, Promise.resolve("a")]) {
      refused(() => say([{}], () => nonsense as never), "ARGUMENT_INVALID", /must give an id/);
    }
    refused(() => say([{}], () => ".."), "NAME_INVALID", /./);
  });

  it("is refused when that waits, and what becomes of it later is of no account", async (t) => {
    const failing = async () => {
      throw new TypeError("no counter");
    };
    const unheard = t.mock.fn();
    process.once("unhandledRejection", unheard);
    t.after(() => process.off("unhandledRejection", unheard));
    refused(() => say([{}], failing as never), "ARGUMENT_INVALID", /must give an id .* gave a promise/);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(unheard.mock.callCount(), 0);
  });
});
