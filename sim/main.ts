// npm run sim
import { showLine } from "../src/world/story.ts";
import { run } from "./run.ts";
import { drawPlan } from "./swarm.ts";

const first = Number(process.argv[2] ?? 1),
  n = Number(process.argv[3] ?? 1);
let sim = 0,
  steps = 0,
  bad = 0;
const t = performance.now();
const faults = new Map<string, number>(),
  marks = new Set<string>();
for (let seed = first; seed < first + n; seed++) {
  const plan = drawPlan(seed);
  const outcome = await run(plan, (stage) => {
    if (n === 1)
      stage.observers.push({
        told: (line) => {
          if (line.level !== "debug") console.log(showLine(line));
        },
      });
  });
  sim += outcome.simulatedMs;
  steps += outcome.steps;
  for (const [k, v] of outcome.faults) faults.set(k, (faults.get(k) ?? 0) + v);
  for (const m of outcome.marks) marks.add(m);
  if (outcome.violations.length) {
    bad++;
    console.log(seed, outcome.violations[0]);
  }
  if (n === 1) console.log(outcome);
}
const s = (performance.now() - t) / 1000;
console.log({ n, bad, seconds: s, perSecond: n / s, times: sim / 1000 / s, eventsPerSecond: steps / s }, faults, marks);
