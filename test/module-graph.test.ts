// The scripts that read imports: the choice of unit tests, and the picture of the modules.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { edgesOf, mermaidOf, reduced } from "../scripts/deps.ts";
import { ModuleGraph } from "../scripts/module-graph.ts";
import { isUnitTest } from "../scripts/unit-tests.ts";

const FILES = {
  "package.json": `{ "name": "limpet", "exports": { ".": { "limpet-source": "./src/index.ts" } } }`,
  "src/index.ts": `export { open } from "./host/app.ts";`,
  "src/host/app.ts": `import { Thread } from "../stores/thread.ts";\nimport { sum } from "../kernel/sum.ts";`,
  "src/stores/thread.ts": `import { Worker } from "node:worker_threads";\nimport type { Sum } from "../kernel/sum.ts";`,
  "src/kernel/sum.ts": `export const sum = 1;`,
  "src/kernel/sum.test.ts": `import { sum } from "./sum.ts";\nimport "./kit.test.ts";`,
  "src/kernel/kit.test.ts": `import { sum } from "./sum.test.ts";`,
  "src/kernel/kill.test.ts": `import { fork } from "../../test/support/process.ts";`,
  "src/stores/thread.test.ts": `const { Thread } = await import("./thread.ts");`,
  "src/stores/memory.test.ts": `import { suite } from "./store.contract.ts";`,
  "src/stores/store.contract.ts": `import { sum } from "../kernel/sum.ts";`,
  "test/support/process.ts": `import { spawn } from "node:child_process";`,
  "examples/shop.test.ts": `import { limpet } from "limpet";`,
};

function withFiles(use: (graph: ModuleGraph) => void): void {
  const root = mkdtempSync(join(tmpdir(), "limpet-graph-"));
  try {
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    use(new ModuleGraph(root));
  } finally {
    rmSync(root, { recursive: true });
  }
}

test("a test without helpers that start anything is a unit test", () => {
  withFiles((graph) => {
    const units = Object.keys(FILES).filter((path) => path.endsWith(".test.ts") && isUnitTest(path, graph));
    assert.deepEqual(units, ["src/kernel/sum.test.ts", "src/kernel/kit.test.ts"]);
  });
});

test("the repository has unit tests and other tests", () => {
  const graph = new ModuleGraph();
  assert.ok(isUnitTest("src/kernel/errors-doc.test.ts", graph));
  assert.ok(!isUnitTest("test/kill.test.ts", graph));
});

test("the picture of the modules counts imports and leaves out implied arrows", () => {
  withFiles((graph) => {
    const paths = Object.keys(FILES).filter((path) => /^src\/.*(?<!\.test|\.contract)\.ts$/.test(path));
    const edges = edgesOf(paths, graph);
    const all = [
      "  entry",
      "  entry -->|1| host",
      "  host",
      "  host -->|1| kernel",
      "  host -->|1| stores",
      "  kernel",
      "  stores",
      "  stores -->|1| kernel",
    ];
    assert.equal(mermaidOf(edges), `flowchart TD\n${all.join("\n")}\n`);
    const few = all.filter((line) => line !== "  host -->|1| kernel");
    assert.equal(mermaidOf(reduced(edges)), `flowchart TD\n${few.join("\n")}\n`);
  });
});

test("modules that import each other keep their arrows", () => {
  const edges = new Map([
    ["a", new Map([["b", 1]])],
    ["b", new Map([["a", 2]])],
  ]);
  assert.deepEqual(reduced(edges), edges);
});
