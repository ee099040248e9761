import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runtimeProblem } from "./runtime.ts";
import { VERSION } from "./version.ts";

test("the version in the code equals the version of the package", () => {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  assert.equal(VERSION, manifest.version);
  assert.equal(manifest.engines.node, ">=24");
});

test("a Node that is too old is rejected with the way to a newer one; other runtimes are not mistaken for Node", () => {
  const advice = "Install it next to your app with: npm install --save-dev node@24, and run it with npx.";
  for (const node of ["20.20.2", "22.1.0"]) {
    assert.equal(runtimeProblem({ node }), `limpet needs Node 24 or newer; this is Node ${node}. ${advice}`);
  }
  for (const versions of [
    { node: "24.0.0" },
    { node: "26.3.0" },
    { node: "20.0.0", bun: "1.4.4" },
    { node: "20.0.0", deno: "2" },
  ]) {
    assert.equal(runtimeProblem(versions), undefined);
  }
});
