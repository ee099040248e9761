// A leader is killed and another one takes over, which learns of sticky actors only from the reports of
// hosts. The schedulers are real processes; the hosts are streams on which this test sends any message at any
// time.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tempPlace } from "../support/two-stores.ts";
import { until } from "./callers.ts";
import { HandHost, HandScheduler } from "./hand-host.ts";

/** Leases that a test can wait for. */
const BRIEF = ["--lease", "3s", "--leader-lease", "1s", "--round-timeout", "2s", "--move-timeout", "1s"];

describe("a scheduler that takes over", { timeout: 600_000 }, () => {
  test("a new leader grants nothing of a type before every host that may hold some of it has reported", async () => {
    await using place = await tempPlace();
    await using stack = new AsyncDisposableStack();
    const first = stack.use(await HandScheduler.start(place));
    const one = await first.host({ name: "one" });
    const two = await first.host({ name: "two" });
    // It is not related to the others.
    const stock = await first.host({ name: "stock", types: ["Stock"], sticky: new Map([["Stock", 0]]) });
    assert.equal(await one.outcome("Cart", "a"), "granted");
    assert.equal(await two.outcome("Cart", "b"), "granted");
    await first.process.end("SIGKILL");
    for (const host of [one, two, stock]) await host.over();

    const second = stack.use(await HandScheduler.start(place));
    const [one2, two2, stock2] = [one, two, stock].map(({ hello }) => new HandHost(second.client, hello));
    // A new host that joins now does not change this.
    const three = new HandHost(second.client, { name: "three" });
    for (const host of [two2!, stock2!, three]) host.send({ kind: "claimed" });
    assert.equal(await stock2!.outcome("Stock", "a"), "granted");
    const answers = [two2!.ask("Cart", ["a", "b", "c"]), three.ask("Cart", ["a", "b"])];
    const none = (): boolean => answers.every((answer) => answer().every((answer) => answer === undefined));
    one2!.claim("Cart", ["d"]);
    await one2!.everythingPersisted();
    assert.ok(none(), "nobody was answered while the first had said a part only");
    one2!.claim("Cart", ["a"]);
    await one2!.everythingPersisted();
    assert.equal(await stock2!.outcome("Stock", "b"), "granted");
    assert.ok(none(), "nor when it had said everything, but not that this was everything");
    one2!.send({ kind: "claimed" });
    await until(() => answers.every((answer) => !answer().includes(undefined)), "everybody is answered");
    const owners = answers[0]!().map((answer) => (answer?.kind === "owner" ? answer.host.name : answer?.kind));
    // It has released its earlier actors by not claiming them.
    assert.deepEqual([owners[0], owners[2]], ["one", "granted"]);
    const strangers = answers[1]!().map((answer) => (answer?.kind === "owner" ? answer.host.name : answer?.kind));
    assert.equal(strangers[0], "one");
    assert.deepEqual(
      new Set([owners[1], strangers[1]]),
      new Set(["granted", owners[1] === "granted" ? "two" : "three"]),
    );
    assert.equal(await three.outcome("Cart", "d"), "one");
  });

  test("a new leader waits for a missing host until its lease has ended, and no longer", async () => {
    await using place = await tempPlace();
    await using stack = new AsyncDisposableStack();
    const first = stack.use(await HandScheduler.start(place, BRIEF));
    const lost = await first.host({ name: "lost" });
    const here = await first.host({ name: "here" });
    for (const host of [lost, here]) stack.use(host.keepRenewing());
    assert.equal(await lost.outcome("Cart", "a"), "granted");
    await first.process.end("SIGKILL");
    const second = stack.use(await HandScheduler.start(place, BRIEF));
    const again = new HandHost(second.client, here.hello);
    stack.use(again.keepRenewing());
    again.send({ kind: "claimed" });
    const answers = again.ask("Cart", ["a"]);
    const expected = async (): Promise<boolean> => {
      const { hosts } = await second.client.admin({ kind: "cluster" });
      return hosts.some(({ address, state }) => address === lost.hello.address && state === "expected");
    };
    await until(async () => {
      const [answer] = answers();
      // No answer was given during the wait for the other host.
      assert.ok(answer === undefined || !(await expected()), "granted while its holder may still have it");
      return answer !== undefined;
    }, "it is answered");
    assert.equal(answers()[0]?.kind, "granted");
    // A host that is too late has to join anew.
    const late = new HandHost(second.client, { ...lost.hello, unlocked: new Map([["Cart", { term: 1, number: 1 }]]) });
    await until(() => late.received.some(({ kind }) => kind === "removed"), "it is told that it is no member any more");
    const anew = await second.host({ name: "lost", replaces: lost.hello.incarnation });
    assert.equal(await anew.outcome("Cart", "a"), "here");
  });

  test("a new leader rejects a host with other sticky options than the hosts it waits for", async () => {
    await using place = await tempPlace();
    await using stack = new AsyncDisposableStack();
    const first = stack.use(await HandScheduler.start(place));
    const one = await first.host({ name: "one" });
    assert.equal(await one.outcome("Cart", "a"), "granted");
    const plain = { name: "plain", types: ["Cart"], sticky: new Map() };
    assert.match((await new HandHost(first.client, plain).over())!.message, /sticky on the other hosts and not sticky/);
    await first.process.end("SIGKILL");

    const second = stack.use(await HandScheduler.start(place));
    // It joins first, before the host that has been there all the time.
    const intruder = new HandHost(second.client, plain);
    await until(() => intruder.isOver || intruder.received.length > 0, "it is told something");
    const again = new HandHost(second.client, one.hello);
    await again.joined();
    again.claim("Cart", ["a"]);
    again.send({ kind: "claimed" });
    assert.equal(await again.outcome("Cart", "a"), "granted");
    assert.ok((await intruder.over()) !== undefined);
  });
});
