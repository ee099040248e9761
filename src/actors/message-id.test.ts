import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { addressed, type MessageId } from "./message-id.ts";

const idOf = (args: readonly unknown[], own?: MessageId) => addressed("Counter", "add", args, own);
const refused = (what: () => unknown, code: string, text: RegExp) =>
  assert.throws(what, (error) => isLimpetError(error) && error.code === code && text.test(error.message));

describe("a message without an extractor", () => {
  it("a message without an extractor is an envelope, and the actor gets its payload", () => {
    assert.deepEqual(idOf([{ id: "a", message: { by: 2 } }]), { id: "a", args: [{ by: 2 }] });
    assert.deepEqual(idOf([{ id: "a", message: 2 }, "more"]), { id: "a", args: [2, "more"] });
  });

  it("an envelope may be empty", () => {
    assert.deepEqual(idOf([{ id: "a" }]), { id: "a", args: [] });
    assert.deepEqual(idOf([{ id: "a" }, "more"]), { id: "a", args: [undefined, "more"] });
  });

  it("a message that names no receiver is rejected", () => {
    for (const message of [undefined, null, 7, "a", {}, { id: 7 }, []]) {
      refused(() => idOf([message]), "ARGUMENT_INVALID", /must be an envelope/);
    }
    refused(() => idOf([{ counter: "a" }]), "ARGUMENT_INVALID", /; got one without an id$/);
    refused(() => idOf(["tea ".repeat(1_000)]), "ARGUMENT_INVALID", /; got a text$/);
    refused(() => idOf([{ id: "" }]), "NAME_INVALID", /./);
    refused(() => idOf([{ id: "a/b" }]), "NAME_INVALID", /./);
  });
});

describe("a message with an extractor", () => {
  it("a message reaches the actor unchanged when the extractor returns an id", () => {
    const own = (message: { counter: string }) => message.counter;
    assert.deepEqual(idOf([{ counter: "a", by: 2 }, 3], own), { id: "a", args: [{ counter: "a", by: 2 }, 3] });
  });

  it("the actor gets the payload of the envelope that the extractor returns", () => {
    const own = ([id, by]: [string, number]) => ({ id, message: by });
    assert.deepEqual(idOf([["a", 2]], own), { id: "a", args: [2] });
  });

  it("a message is rejected when the extractor throws or returns an invalid value", () => {
    const throws = () => {
      throw new TypeError("no counter");
    };
    refused(
      () => idOf([{}], throws),
      "ARGUMENT_INVALID",
      /messageId of Counter failed on a message for add: no counter/,
    );
    for (const nonsense of [7, null, {}, { id: 7 }, Promise.resolve("a")]) {
      refused(() => idOf([{}], () => nonsense as never), "ARGUMENT_INVALID", /must return an id/);
    }
    refused(() => idOf([{}], () => ".."), "NAME_INVALID", /./);
  });

  it("a message is rejected when the extractor returns a promise, and the promise is ignored", async (t) => {
    const failing = async () => {
      throw new TypeError("no counter");
    };
    const unheard = t.mock.fn();
    process.once("unhandledRejection", unheard);
    t.after(() => process.off("unhandledRejection", unheard));
    refused(() => idOf([{}], failing as never), "ARGUMENT_INVALID", /must return an id .* got a promise/);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(unheard.mock.callCount(), 0);
  });
});
