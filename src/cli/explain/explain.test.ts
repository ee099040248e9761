import assert from "node:assert/strict";
import { test } from "node:test";
import type { Explanation } from "../../ports/host-admin.ts";
import { explanationText } from "./explain.ts";

const NOW = Date.UTC(2030, 0, 1);
const plain = (_tint: string, text: string): string => text;

const idle: Explanation = {
  type: "Cart",
  id: "alice",
  summary: "Cart/alice is in memory and idle since 3s",
  phase: "idle",
  activeSince: NOW - 60_000,
  lastUsed: NOW - 3_000,
  running: [],
  queued: [],
  timers: [],
  stored: { epoch: 2, version: 14, bytes: 182, owner: "someone", committedAt: NOW - 3_000 },
};

test("an idle actor shows its time in memory and its stored state", () => {
  assert.equal(
    explanationText(idle, NOW, plain),
    [
      "Cart/alice is in memory and idle since 3s.",
      "In memory since 2029-12-31T23:59:00.000Z (1m ago); last used 3.0s ago.",
      "In the store: 182 B, version 14, last committed 3.0s ago.",
      "Epoch 2, taken by someone.",
    ].join("\n"),
  );
});

test("a busy actor shows its running turn, its waiting calls and its timers", () => {
  const text = explanationText(
    {
      ...idle,
      phase: "running",
      running: [
        { method: "checkout", forMs: 1_200, waitsFor: "Stock/tea" },
        { method: "total", forMs: 20, waitsFor: "its own code" },
      ],
      queued: Array.from({ length: 12 }, () => ({ method: "add", forMs: 800 })),
      timers: ["nudge", "sweep"],
    },
    NOW,
    plain,
  );
  assert.match(text, /It has been running checkout for 1\.2s; it waits for Stock\/tea\./);
  assert.match(text, /12 calls wait for its turn, oldest first: add \(800ms\), .* and 2 more\./);
  assert.match(text, /It has 2 timers: nudge and sweep\./);
});

test("an actor that never existed shows only that", () => {
  const text = explanationText(
    { ...idle, summary: "Cart/x is not in memory", phase: "not active", activeSince: undefined, stored: undefined },
    NOW,
    plain,
  );
  assert.equal(text, "Cart/x is not in memory.\nNothing of it is in the store.");
});

test("names of other processes are escaped for the terminal", () => {
  assert.ok(!explanationText({ ...idle, summary: "\u001b[2J" }, NOW, plain).includes("\u001b"));
});
