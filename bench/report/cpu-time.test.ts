import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { cpuSecondsOf } from "./cpu-time.ts";

const skip = process.platform !== "linux" && "needs the scheduler statistics of Linux";
const SPIN = `const from = process.cpuUsage();
const spent = () => { const { user, system } = process.cpuUsage(from); return user + system; };
while (spent() < 200_000);
process.send("spent");
process.on("message", () => process.exit());`;

test("the CPU time of a process contains that of its descendants", { skip }, async () => {
  const before = cpuSecondsOf(process.pid)!;
  const child = fork("-", [], { execArgv: ["-e", SPIN] });
  await once(child, "message");
  const [spent, own] = [cpuSecondsOf(process.pid)! - before, cpuSecondsOf(child.pid!)!];
  child.send("end");
  await once(child, "exit");
  assert.ok(own >= 0.2, `${own} s of the child`);
  assert.ok(spent >= own, `${spent} s of both, ${own} s of the child`);
});

test("a process that does not exist has no CPU time", () => {
  assert.equal(cpuSecondsOf(2 ** 30), undefined);
});
