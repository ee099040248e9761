import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Mailbox } from "./mailbox.ts";
import type { Turn } from "./turn.ts";

const turn = (id: string): Turn => ({ id, before: undefined, behind: undefined }) as Turn;
const ids = (turns: Iterable<Turn>): string[] => [...turns].map(({ id }) => id);

describe("a mailbox", () => {
  it("a mailbox returns turns in order of arrival, also after some were removed", () => {
    const mailbox = new Mailbox();
    const [a, b, c, d] = [turn("a"), turn("b"), turn("c"), turn("d")];
    for (const one of [a, b, c, d]) mailbox.push(one);
    mailbox.remove(b);
    mailbox.remove(d);
    assert.deepEqual(ids(mailbox), ["a", "c"]);
    assert.equal(mailbox.length, 2);
    assert.equal(mailbox.shift(), a);
    assert.equal(mailbox.shift(), c);
    assert.equal(mailbox.shift(), undefined);
  });

  it("turns taken from an emptied mailbox do not bring their neighbours into the next one", () => {
    const mailbox = new Mailbox();
    for (const id of ["a", "b", "c"]) mailbox.push(turn(id));
    const [a, b] = mailbox.takeAll();
    assert.equal(mailbox.length, 0);
    assert.deepEqual(ids(mailbox), []);
    // The actor of a was deactivated and returns; the caller of b has given up meanwhile.
    const next = new Mailbox();
    next.push(a!);
    assert.deepEqual(ids(next), ["a"]);
    assert.equal(next.shift(), a);
    assert.equal(next.shift(), undefined);
    assert.equal(b!.before, undefined);
  });
});
