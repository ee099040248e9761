// The plan of a job: drawn from its seed, with the requested number of hosts.
import type { Plan, PlannedHost } from "../plan.ts";
import { drawPlan } from "../swarm/swarm.ts";
import type { Job } from "./job.ts";
import { withoutHost } from "./without-host.ts";

export function planOf({ seed, plan, hosts }: Pick<Job, "seed" | "plan" | "hosts">): Plan {
  const drawn = plan ?? drawPlan(seed);
  return hosts === undefined ? drawn : withHosts(drawn, hosts);
}

/**
 * Dedicated schedulers stay as they are. Additional hosts resemble the planned ones, and make some of their
 * calls.
 */
function withHosts(plan: Plan, count: number): Plan {
  const isHost = ({ dedicated }: PlannedHost): boolean => !dedicated;
  let smaller = plan;
  for (const { name } of plan.hosts.filter(isHost).slice(count)) smaller = withoutHost(smaller, name);
  const models = smaller.hosts.filter(isHost);
  const taken = new Set(models.map(({ name }) => name));
  const likes = new Map(models.map(({ name }) => [name, [name]]));
  const more: PlannedHost[] = [];
  for (let number = 1; models.length + more.length < count; number++) {
    const name = `host-${number}`;
    if (taken.has(name)) continue;
    const model = models[more.length % models.length]!;
    likes.get(model.name)!.push(name);
    more.push({ ...model, name, machine: `machine-of-${name}` });
  }
  const calls = smaller.calls.map((call, i) => {
    const like = likes.get(call.from);
    return like === undefined ? call : { ...call, from: like[i % like.length]! };
  });
  return { ...smaller, hosts: [...smaller.hosts, ...more], calls };
}
