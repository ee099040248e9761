#!/usr/bin/env node
// Plain JavaScript for any Node, so that an old one prints a message instead of a syntax error.
import { existsSync } from "node:fs";

const major = Number(process.versions.node.split(".")[0]);
if (major < 24 && process.versions.bun === undefined && process.versions.deno === undefined) {
  // The library reports the same (src/host/runtime.ts).
  const advice = "Install it next to your app with: npm install --save-dev node@24, and run it with npx.";
  console.error(`limpet needs Node 24 or newer; this is Node ${process.versions.node}. ${advice}`);
  process.exit(1);
}
const command = new URL("../dist/cli/bin.js", import.meta.url);
if (!existsSync(command)) {
  console.error("limpet is not built yet. In its own folder, run: npm install && npm run build");
  process.exit(1);
}
await import(command.href);
