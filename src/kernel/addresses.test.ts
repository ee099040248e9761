import assert from "node:assert/strict";
import { it } from "node:test";
import { isLoopback } from "./addresses.ts";

const OURS = [
  "127.0.0.1",
  "127.8.255.3",
  "localhost",
  "LOCALHOST",
  "::1",
  "[::1]",
  "::0001",
  "0:0:0:0:0:0:0:1",
  "::ffff:127.0.0.1",
];
const OTHERS = [
  "",
  "0.0.0.0",
  "::",
  "10.0.0.1",
  "127.0.0.256",
  "127.0.0.1.evil.example",
  "127.1",
  "localhost.evil.example",
  "::11",
  "1::1",
  "::ffff:10.0.0.1",
];

it("loopback addresses are recognised in all their spellings", () => {
  for (const host of OURS) assert.equal(isLoopback(host), true, host);
});

it("no other address counts as loopback", () => {
  for (const host of OTHERS) assert.equal(isLoopback(host), false, host);
});
