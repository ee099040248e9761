import assert from "node:assert/strict";
import { test } from "node:test";
import { Actor } from "../../actors/actor.ts";
import { banner, localCommands, type Ready } from "./banner.ts";
import { prettyLine } from "./dev-log.ts";
import { ownCommand } from "./own-command.ts";
import { proposeCommands } from "./try-these.ts";

const plain = (_tint: string, text: string): string => text;

class Cart extends Actor<{ items: string[] }> {
  override initial() {
    return { items: [] as string[] };
  }
  override onActivate() {}
  _secret() {}
  items() {
    return this.state.items;
  }
  add(item: string, _amount = 1) {
    return item;
  }
  move(_from: string, _to: string) {}
}

class Counter extends Actor {
  increase(amount: number) {
    return amount;
  }
}

class Odd extends Actor {
  take({ a }: { a: number }) {
    return a;
  }
}

class Silent extends Actor {}

test("the proposals are a change and a read of the actor with the most methods, never a hook", () => {
  assert.deepEqual(proposeCommands([Silent, Counter, Cart]), [
    `limpet call Cart alice add ${process.platform === "win32" ? '"\\"item\\""' : `'"item"'`}`,
    "limpet call Cart alice items",
  ]);
});

test("a number is proposed for a numeric parameter name, and explain is added", () => {
  assert.deepEqual(proposeCommands([Counter]), [
    "limpet call Counter alice increase 1",
    "limpet explain Counter alice",
  ]);
});

test("a method with parameters that cannot be guessed is not proposed", () => {
  assert.deepEqual(proposeCommands([Odd, Silent]), ["limpet actors"]);
});

test("proposed commands contain the local executable name, and the URL unless it is the default", () => {
  const usual = "http://127.0.0.1:7300";
  const commands = ["limpet actors", "limpet call A b c --url http://x", "curl http://x"];
  assert.deepEqual(localCommands(commands, "npx limpet", usual, usual), [
    "npx limpet actors",
    "npx limpet call A b c --url http://x",
    "curl http://x",
  ]);
  assert.equal(
    localCommands(commands, "limpet", "http://127.0.0.1:7301", usual)[0],
    "limpet actors --url http://127.0.0.1:7301",
  );
  assert.equal(ownCommand({ PATH: "" }), "npx limpet");
});

test("the banner shows addresses, types and commands to try", () => {
  const ready: Ready = {
    version: "1.2.3",
    readyInMs: 300.4,
    url: "http://127.0.0.1:7300",
    store: "/tmp/x.db",
    namespace: "default",
    actorTypes: ["Cart", "Stock"],
    workflowTypes: [],
    cluster: { address: "127.0.0.1:7401", joined: true, leaderHere: true, otherHosts: 0 },
    tryThese: ["limpet actors"],
    needsToken: false,
  };
  const text = banner(ready, plain);
  for (const part of [
    "1.2.3 is ready (300 ms after start)",
    "http://127.0.0.1:7300/metrics",
    "/tmp/x.db",
    "Cart, Stock",
    "Cluster  1 host, leader here",
    "  limpet actors",
    "Ctrl-C",
  ]) {
    assert.ok(text.includes(part), part);
  }
  assert.ok(!text.includes("Namespace") && !text.includes("Workflows"));
  const flows = banner({ ...ready, actorTypes: [], workflowTypes: ["order", "refund"] }, plain);
  assert.ok(!flows.includes("Actors") && /Workflows +order, refund/.test(flows), flows);
  assert.match(banner({ ...ready, needsToken: true, namespace: "blue" }, plain), /LIMPET_TOKEN/);
  assert.ok(!banner({ ...ready, cluster: undefined }, plain).includes("Cluster"));
  const closed = banner({ ...ready, url: undefined, cluster: undefined }, plain);
  assert.ok(closed.includes("HTTP    off"));
  assert.ok(!closed.includes("Try in another terminal"));
});

test("a log line for display keeps event, fields and the frames of the app", () => {
  const stack =
    "TypeError: bad\n    at f (file:///app/cart.ts:3:5)\n    at node:internal/x:1:1\n    at g (/app/node_modules/y.js:1:1)";
  const err = { name: "TypeError", message: "bad\u001b[2J", stack };
  const text = prettyLine(
    JSON.stringify({ level: "warn", time: "2030-01-01T00:00:00.000Z", event: "timer.failed", type: "Cart", err }),
    plain,
  );
  assert.match(
    text,
    /^\d\d:\d\d:\d\d warn {2}timer\.failed type=Cart\n {2}TypeError: bad\n {6}at f \(file:\/\/\/app\/cart\.ts:3:5\)$/,
  );
  assert.equal(prettyLine("not json\n", plain), "not json");
});
