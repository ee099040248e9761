// A plan for display: its header lists hosts and features, its script lists the events with their times.
import type { CallHow, Plan } from "../../plan.ts";

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(3)}s`;

/** Topology, settings, workload, and the kinds of faults. */
export function headerOf(plan: Plan): string[] {
  const { hosts, settings, latency, chaosMs, calls, faults } = plan;
  const kinds = Map.groupBy(faults, ({ fault }) => fault);
  const odd = calls.filter(({ how }) => Object.keys(how).length > 0).length;
  const actors = new Set(calls.map(({ type, id }) => `${type}/${id}`));
  return [
    `seed ${plan.seed}: ${hosts.length} hosts, trouble for ${(chaosMs / 1_000).toFixed(1)} s`,
    ...hosts.map(({ name, machine, namespace, types, dedicated, watches, clock, startsAt }) => {
      const does = dedicated ? "scheduler only" : types.length === 0 ? "calls only" : types.join(" ");
      const rate = clock.rate === undefined ? "" : `, clock ${(clock.rate * 100 - 100).toFixed(2)} %`;
      const offset = clock.offsetMs === undefined ? "" : ` ${clock.offsetMs.toFixed(0)} ms`;
      const where = `on ${machine}${namespace === "default" ? "" : `, namespace ${namespace}`}`;
      return `  ${name.padEnd(8)} ${does}, ${where}, from ${seconds(startsAt)}${watches ? ", watches schedulers" : ""}${rate}${offset}`;
    }),
    `  settings ${JSON.stringify(settings)}`,
    `  network  ${latency.leastMs.toFixed(1)} ms, mostly up to ${latency.moreMs.toFixed(1)} ms more`,
    `  workload ${calls.length} calls to ${actors.size} actors${odd > 0 ? `, ${odd} of them odd` : ""}`,
    `  faults   ${[...kinds].map(([name, all]) => `${name} ×${all.length}`).join(", ") || "none"}`,
  ];
}

/** All planned events in order. For small plans. */
export function scriptOf({ hosts, calls, faults, chaosMs }: Plan): string[] {
  const lines = [
    ...hosts.map(({ startsAt, name }) => ({ at: startsAt, text: `${name} starts` })),
    ...calls.map(({ at, from, method, type, id, timeoutMs, how }) => {
      return { at, text: `${from} calls ${method} of ${type}/${id} for ${timeoutMs} ms${showHow(how)}` };
    }),
    ...faults.map(({ at, fault, ...details }) => ({ at, text: `⚡ ${fault} ${JSON.stringify(details)}` })),
    { at: chaosMs, text: "everything is healed" },
  ];
  return lines.sort((a, b) => a.at - b.at).map(({ at, text }) => `${seconds(at).padStart(10)} ${text}`);
}

const showHow = (how: CallHow): string => (Object.keys(how).length === 0 ? "" : ` ${JSON.stringify(how)}`);
