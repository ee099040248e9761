import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { type Stream, safe, Terminal, wantsColour } from "./terminal.ts";

const tty: Stream = { isTTY: true, write: () => true };
const pipe: Stream = { write: () => true };

test("colours are for terminals, unless the environment overrides it", () => {
  assert.equal(wantsColour(tty, {}), true);
  assert.equal(wantsColour(pipe, {}), false);
  assert.equal(wantsColour(tty, { NO_COLOR: "1" }), false);
  assert.equal(wantsColour(tty, { NO_COLOR: "" }), true);
  assert.equal(wantsColour(tty, { TERM: "dumb" }), false);
  assert.equal(wantsColour(pipe, { FORCE_COLOR: "1" }), true);
  assert.equal(wantsColour(pipe, { FORCE_COLOR: "1", NO_COLOR: "1" }), true);
  assert.equal(wantsColour(tty, { FORCE_COLOR: "0" }), false);
});

test("stdout and stderr are coloured independently", () => {
  const terminal = new Terminal(pipe, tty, {});
  assert.equal(terminal.paint("red", "x"), "x");
  assert.equal(terminal.paintErr("red", "x"), "\u001b[31mx\u001b[39m");
});

test("output to a closed reader is dropped", () => {
  const lines: string[] = [];
  const stdout = Object.assign(new EventEmitter(), { write: (text: string) => lines.push(text) });
  const terminal = new Terminal(stdout, pipe, {});
  terminal.line("one");
  stdout.emit("error", Object.assign(new Error("broken pipe"), { code: "EPIPE" }));
  terminal.line("two");
  assert.equal(terminal.gone, true);
  assert.deepEqual(lines, ["one\n"]);
});

test("JSON is indented for display and compact for programs", () => {
  const written: string[] = [];
  const write = (text: string) => written.push(text);
  new Terminal({ isTTY: true, write }, pipe, {}).json({ a: 1 });
  new Terminal({ write }, pipe, {}).json({ a: 1 });
  assert.deepEqual(written, ['{\n  "a": 1\n}\n', '{"a":1}\n']);
});

test("text of other processes cannot move the cursor, change colours or reverse the text direction", () => {
  assert.equal(safe("plain text, ünïcode 🐚\nnext\tline"), "plain text, ünïcode 🐚\nnext\tline");
  assert.equal(safe("\u001b[31mred\u001b[0m"), "red");
  assert.equal(safe("a\rb\u0007c\u0085d"), "a\\u000db\\u0007c\\u0085d");
  assert.doesNotMatch(safe("\u202egnp.exe\u2066"), /[\u202e\u2066]/);
  assert.ok(!safe("\u001b]0;title\u0007").includes("\u001b"));
});
