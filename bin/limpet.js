#!/usr/bin/env node
// Plain JavaScript that any Node can read, so that an old one gets a sentence instead of a syntax error.
const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(`limpet needs Node 24 or newer; this is Node ${process.versions.node}.`);
  console.error("Install it next to your app with: npm install --save-dev node@24, and run limpet with npx.");
  process.exit(1);
}
const { main } = await import("../dist/cli/main.js");
process.exitCode = await main(process.argv.slice(2));
