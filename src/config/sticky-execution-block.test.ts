import assert from "node:assert/strict";
import { test } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { parseConfig } from "./config-file.ts";
import { readValue } from "./read-value.ts";

const withBlock = (...lines: readonly string[]): string =>
  ["workflows:", "  v2:", "    sticky_execution:", ...lines.map((line) => `      ${line}`), ""].join("\n");

const valuesOf = (text: string): unknown =>
  Object.fromEntries(parseConfig(text, "limpet.yaml").map((entry) => [entry.key, readValue(entry)]));

function refused(text: string): string {
  try {
    valuesOf(text);
  } catch (error) {
    assert.ok(isLimpetError(error, "OPTION_INVALID"), String(error));
    return error.message;
  }
  return assert.fail("nothing was refused");
}

test("the block for sticky execution sets worker.sticky and worker.stickyTtl, in seconds", () => {
  assert.deepEqual(valuesOf(withBlock("enabled: true", "ttl_seconds: 90")), {
    workerSticky: true,
    workerStickyTtl: 90_000,
  });
  assert.deepEqual(valuesOf(withBlock("enabled: false")), { workerSticky: false });
  assert.deepEqual(valuesOf("workflows: { v2: { sticky_execution: } }"), {});
});

test("each part of the block knows its line", () => {
  const [enabled, ttl] = parseConfig(withBlock("enabled: true", "ttl_seconds: 90"), "limpet.yaml");
  assert.deepEqual([enabled?.origin.place, ttl?.origin.place], ["limpet.yaml:4", "limpet.yaml:5"]);
  assert.equal(ttl?.origin.name, "workflows.v2.sticky_execution.ttl_seconds");
});

test("a wrong value, an unknown name and a duplicate setting are rejected with the place", () => {
  assert.match(
    refused(withBlock("ttl_seconds: 5m")),
    /ttl_seconds.*limpet\.yaml:4.*number of seconds above 0; got "5m"/,
  );
  assert.match(refused(withBlock("ttl_seconds: 0")), /number of seconds above 0; got 0/);
  assert.match(refused(withBlock("ttl_seconds: 0.1")), /ttl_seconds/);
  assert.match(refused(withBlock("enabled: maybe")), /enabled/);
  assert.match(refused(withBlock("ttl_second: 5")), /there is no ttl_second .*did you mean/);
  assert.match(refused("workflows: { v1: {} }"), /there is no v1 below it, only workflows\.v2/);
  assert.match(refused("workflows: yes"), /must be a block with workflows\.v2; got/);
  assert.match(refused(`${withBlock("enabled: true")}worker: { sticky: no }\n`), /set the same option/);
});
