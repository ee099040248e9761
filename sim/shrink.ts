// Shrinks a failing plan: parts are removed, and stay removed while the same failure remains. It first
// removes much at a time (half of the chaos, whole kinds of faults, whole hosts), then one part after the
// other.
import { withoutHost } from "./command/without-host.ts";
import type { Plan, PlannedCall } from "./plan.ts";

/** True if a plan fails in the same way as the first one. */
export type Fails = (plan: Plan) => Promise<boolean>;

export interface ShrinkOptions {
  /** Most plans that are tried. */
  readonly mostRuns?: number;
  /** Called after every run of a plan. */
  readonly onRun?: (progress: { readonly runs: number; readonly smallest: Plan }) => void;
  readonly isOver?: () => boolean;
}

const MOST_RUNS = 1_500;

/** Returns the smallest failing plan; the plan itself if nothing can be removed. */
export async function shrink(plan: Plan, fails: Fails, options: ShrinkOptions = {}): Promise<Plan> {
  const shrinking = new Shrinking(plan, fails, options);
  // A removal may allow another one, so passes repeat until one changes nothing.
  while (await shrinking.pass());
  return shrinking.smallest;
}

class Shrinking {
  smallest: Plan;
  readonly #fails: Fails;
  readonly #options: ShrinkOptions;
  #runs = 0;
  /** Plans of earlier runs: passes arrive at the same ones again. */
  readonly #tried = new Set<string>();

  constructor(plan: Plan, fails: Fails, options: ShrinkOptions) {
    this.smallest = plan;
    this.#fails = fails;
    this.#options = options;
    this.#tried.add(JSON.stringify(plan));
  }

  get #isOver(): boolean {
    return this.#runs >= (this.#options.mostRuns ?? MOST_RUNS) || this.#options.isOver?.() === true;
  }

  /** Returns true if the plan has become smaller and may become smaller still. */
  async pass(): Promise<boolean> {
    const before = this.smallest;
    await this.#shorten();
    await this.#dropKinds();
    await this.#dropHosts();
    await this.#dropFrom("faults");
    await this.#dropFrom("calls");
    await this.#dropFrom("deeds");
    await this.#simplifyScripts();
    await this.#simplify();
    return this.smallest !== before && !this.#isOver;
  }

  /** Keeps the plan if it still fails. */
  async #try(plan: Plan): Promise<boolean> {
    const text = JSON.stringify(plan);
    if (this.#isOver || this.#tried.has(text)) return false;
    this.#tried.add(text);
    this.#runs++;
    const isSmaller = await this.#fails(plan);
    if (isSmaller) this.smallest = plan;
    this.#options.onRun?.({ runs: this.#runs, smallest: this.smallest });
    return isSmaller;
  }

  async #shorten(): Promise<void> {
    for (let part = 0.5; part < 0.95; part = (part + 1) / 2) {
      while (this.smallest.chaosMs > 1_000 && (await this.#try(until(this.smallest, this.smallest.chaosMs * part))));
    }
  }

  async #dropKinds(): Promise<void> {
    for (const kind of new Set(this.smallest.faults.map(({ fault }) => fault))) {
      await this.#try({ ...this.smallest, faults: this.smallest.faults.filter(({ fault }) => fault !== kind) });
    }
    for (const type of new Set(this.smallest.calls.map((call) => call.type))) {
      await this.#try({ ...this.smallest, calls: this.smallest.calls.filter((call) => call.type !== type) });
    }
    for (const type of new Set(this.smallest.hosts.flatMap(({ types }) => types))) {
      if (this.smallest.calls.some((call) => call.type === type || call.how.via?.some((next) => next.type === type)))
        continue;
      await this.#try(this.#withHosts((host) => ({ ...host, types: host.types.filter((one) => one !== type) })));
    }
  }

  async #dropHosts(): Promise<void> {
    for (const { name } of this.smallest.hosts) {
      if (this.smallest.hosts.length > 1) await this.#try(withoutHost(this.smallest, name));
    }
  }

  /** Delta debugging: halves, quarters, and so on down to one at a time. */
  async #dropFrom(list: "faults" | "calls" | "deeds"): Promise<void> {
    const rest = (): readonly unknown[] => this.smallest[list] ?? [];
    for (let size = Math.ceil(rest().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      // From the end: late parts are seldom the cause of earlier events.
      for (let end = rest().length; end > 0; end -= size) {
        if (this.#isOver) return;
        const all = rest();
        await this.#try({ ...this.smallest, [list]: all.filter((_, i) => i < end - size || i >= end) });
      }
    }
  }

  /** Removes steps of scripts, the last ones first. */
  async #simplifyScripts(): Promise<void> {
    for (const [i, { deed }] of (this.smallest.deeds ?? []).entries()) {
      if (deed.kind !== "start") continue;
      let { steps } = deed;
      for (let at = steps.length - 1; at >= 0 && !this.#isOver; at--) {
        const fewer = steps.toSpliced(at, 1);
        const { deeds = [] } = this.smallest;
        const changed = { ...deeds[i]!, deed: { ...deed, steps: fewer } };
        if (await this.#try({ ...this.smallest, deeds: deeds.with(i, changed) })) steps = fewer;
      }
    }
  }

  async #simplify(): Promise<void> {
    const { smallest } = this;
    if (smallest.hosts.some(({ clock }) => Object.keys(clock).length > 0)) {
      if (!(await this.#try(this.#withHosts((host) => ({ ...host, clock: {} }))))) {
        for (const { name } of smallest.hosts) {
          await this.#try(this.#withHosts((host) => (host.name === name ? { ...host, clock: {} } : host)));
        }
      }
    }
    await this.#try(this.#withHosts((host) => ({ ...host, watches: false })));
    await this.#try(this.#withHosts((host) => ({ ...host, machine: `machine-of-${host.name}` })));
    await this.#try(this.#withHosts((host) => ({ ...host, namespace: "default" })));
    await this.#try(this.#withHosts((host) => ({ ...host, startsAt: 0 })));
    await this.#try({ ...this.smallest, latency: { leastMs: 0.2, moreMs: 0.5 } });
    await this.#simplifySettings();
    await this.#simplifyCalls();
  }

  async #simplifySettings(): Promise<void> {
    for (const name of Object.keys(this.smallest.settings) as (keyof Plan["settings"])[]) {
      const { [name]: _, ...settings } = this.smallest.settings;
      await this.#try({ ...this.smallest, settings });
    }
    const { cluster } = this.smallest.settings;
    if (typeof cluster !== "object") return;
    for (const name of Object.keys(cluster)) {
      const rest = Object.entries(this.smallest.settings.cluster ?? {}).filter(([one]) => one !== name);
      await this.#try({ ...this.smallest, settings: { ...this.smallest.settings, cluster: Object.fromEntries(rest) } });
    }
  }

  async #simplifyCalls(): Promise<void> {
    await this.#try({ ...this.smallest, calls: this.smallest.calls.map((call) => ({ ...call, how: {} })) });
    for (const [i, call] of this.smallest.calls.entries()) {
      if (this.#isOver) return;
      const change = (changed: Partial<PlannedCall>): Promise<boolean> =>
        this.#try({ ...this.smallest, calls: this.smallest.calls.with(i, { ...this.smallest.calls[i]!, ...changed }) });
      if (Object.keys(call.how).length === 0 || (await change({ how: {} }))) continue;
      for (const name of Object.keys(call.how)) {
        const { how } = this.smallest.calls[i]!;
        await change({ how: Object.fromEntries(Object.entries(how).filter(([one]) => one !== name)) });
      }
    }
  }

  #withHosts(change: (host: Plan["hosts"][number]) => Plan["hosts"][number]): Plan {
    return { ...this.smallest, hosts: this.smallest.hosts.map(change) };
  }
}

/** The plan with a shorter chaos. */
function until(plan: Plan, ms: number): Plan {
  const chaosMs = Math.floor(ms);
  const isBefore = ({ at }: { readonly at: number }): boolean => at < chaosMs;
  const deeds = plan.deeds === undefined ? {} : { deeds: plan.deeds.filter(isBefore) };
  return { ...plan, chaosMs, calls: plan.calls.filter(isBefore), ...deeds, faults: plan.faults.filter(isBefore) };
}
