// Draws the workflows of a plan from its seed: workers, operations and scripts. These draws do not change any
// other draw from the seed.
import type { WorkerBlock } from "../../src/config/limpet-settings.ts";
import type { Prng } from "../../src/kernel/prng.ts";
import { LEDGERS } from "../application.ts";
import type {
  Plan,
  PlannedCall,
  PlannedDeed,
  PlannedHost,
  PlannedWorker,
  ScriptStep,
  WorkflowDeed,
  WorkflowPlan,
} from "../plan.ts";
import { BELL, SCRIPT_TYPES, SIGNALS } from "../scripts.ts";

/** Share of the seeds that have workflows. */
const WORKFLOWS = 0.33;
const BUILDS = ["", "blue", "green"] as const;
/** Most levels of nested scripts. */
const DEEPEST = 2;

export interface DrawnWorkflows {
  readonly plan: { readonly workflows: WorkflowPlan; readonly deeds: readonly PlannedDeed[] };
  readonly settings: { readonly worker: WorkerBlock };
  readonly calls: readonly PlannedCall[];
}

/** Parameters for drawing scripts. */
interface Draw {
  readonly chance: Prng;
  readonly ids: readonly string[];
  readonly actors: readonly { readonly type: string; readonly id: string }[];
  /** Approximate duration of each step. */
  readonly ms: number;
  /** Share of faulty steps: they fail, hang, or wait for an event that may never occur. */
  readonly odd: number;
}

export function drawWorkflows({ hosts, calls, chaosMs }: Plan, chance: Prng): DrawnWorkflows | undefined {
  const callers = hosts.filter(({ dedicated }) => !dedicated);
  if (!chance.chance(WORKFLOWS) || callers.length === 0) return undefined;
  const workers = drawWorkers(callers, chance.child("workers"));
  // Types with state that are present in every namespace.
  const spaces = new Set(callers.map(({ namespace }) => namespace));
  const types = LEDGERS.filter((type) =>
    [...spaces].every((space) => callers.some((host) => host.namespace === space && host.types.includes(type))),
  );
  const known = calls.filter(({ type }) => (types as string[]).includes(type));
  const actors =
    types.length > 0 && chance.chance(0.6)
      ? Array.from({ length: 3 }, (_, i) => {
          const call = known.length > 0 && chance.chance(0.6) ? chance.pick(known) : undefined;
          return { type: call?.type ?? chance.pick(types), id: call?.id ?? `desk-${i}` };
        })
      : [];
  const ids = Array.from({ length: 1 + chance.below(8) }, (_, i) => `flow-${i}`);
  const draw: Draw = {
    chance,
    ids,
    actors,
    ms: chance.chance(0.7) ? 60 : 1_500,
    odd: chance.chance(0.5) ? 0.25 : 0.05,
  };
  const everyMs = chance.between(300, 3_000);
  const deeds: PlannedDeed[] = [];
  for (let at = chance.exponential(everyMs / 2); at < chaosMs; at += chance.exponential(everyMs)) {
    const from = chance.pick(callers);
    const build = workers[chance.pick(Object.keys(workers))]!.build;
    const deed = drawDeed(draw, build === "" ? undefined : build, ofBuild(callers, workers, from, build));
    // Some clients send the same signal many times in a row.
    const times = deed.kind === "signal" && chance.chance(0.1) ? 2 + chance.below(10) : 1;
    const workflow = chance.pick(ids);
    for (let i = 0; i < times; i++) deeds.push({ at: Math.floor(at), from: from.name, workflow, deed });
  }
  const plan = { workflows: { workers, notifies: chance.chance(0.6) }, deeds };
  const turns = actors.length > 0 && chance.chance(0.6) ? drawTurns(draw, callers, chaosMs) : [];
  return { plan, settings: { worker: drawSettings(chance) }, calls: turns };
}

/** True if a worker of this build is in the namespace of the client. */
const ofBuild = (
  callers: readonly PlannedHost[],
  workers: Readonly<Record<string, PlannedWorker>>,
  { namespace }: PlannedHost,
  build: string,
): boolean =>
  callers.some((host) => {
    const worker = workers[host.name];
    return host.namespace === namespace && worker?.build === build && worker.types.includes(SCRIPT_TYPES[0]);
  });

/** In every namespace the workers together have all types and activities. */
function drawWorkers(callers: readonly PlannedHost[], chance: Prng): Record<string, PlannedWorker> {
  const workers: Record<string, PlannedWorker> = {};
  const builds = chance.chance(0.3) ? BUILDS : BUILDS.slice(0, 1);
  for (const host of callers) {
    const isFirst = callers.find(({ namespace }) => namespace === host.namespace) === host;
    const types = SCRIPT_TYPES.filter(() => isFirst || chance.chance(0.75));
    const errands = isFirst || chance.chance(0.5);
    const build = chance.pick(builds);
    if (types.length > 0 || errands) workers[host.name] = { types, errands, build };
  }
  return workers;
}

function drawSettings(chance: Prng): WorkerBlock {
  const lease = Math.floor(chance.between(600, chance.chance(0.6) ? 5_000 : 30_000));
  return {
    lease,
    pollInterval: Math.floor(chance.between(50, 2_000)),
    concurrency: chance.pick([2, 5, 1_000]),
    sticky: chance.chance(0.8),
    stickyTtl: Math.floor(chance.between(1_000, chance.chance(0.5) ? 4_000 : 60_000)),
    cacheRuns: chance.pick([0, 1, 2, 5, 10_000]),
  };
}

function drawDeed(draw: Draw, build: string | undefined, isThere: boolean): WorkflowDeed {
  const { chance } = draw;
  const kind = chance.number();
  if (kind < 0.4) return drawStart(draw, isThere ? build : undefined);
  if (kind < 0.75) return { kind: "signal", name: chance.pick([...SIGNALS, BELL]) };
  if (kind < 0.83)
    return {
      kind: "update",
      ms: chance.chance(0.3) ? draw.ms : 0,
      ...(chance.chance(0.2) ? { isRefused: true } : {}),
    };
  return { kind: chance.pick(["query", "query", "result", "result", "result", "cancel", "cancel", "terminate"]) };
}

function drawStart(draw: Draw, build: string | undefined): WorkflowDeed {
  const { chance } = draw;
  return {
    kind: "start",
    steps: drawSteps(draw, DEEPEST, true),
    ...(chance.chance(0.6) ? { ifRunning: chance.pick(["existing", "terminate", "fail"] as const) } : {}),
    ...(chance.chance(0.3) ? { ifEnded: chance.pick(["start unless completed", "fail"] as const) } : {}),
    ...(build !== undefined && chance.chance(0.5) ? { build } : {}),
    ...(chance.chance(0.1) ? { delayMs: Math.floor(chance.exponential(1_000)) } : {}),
    ...(chance.chance(0.1) ? { timeoutMs: Math.floor(chance.between(500, 15_000)) } : {}),
    ...(chance.chance(0.3) ? { cleans: true } : {}),
    ...(chance.chance(0.5) ? { waits: true } : {}),
  };
}

function drawSteps(draw: Draw, depth: number, isWhole: boolean): ScriptStep[] {
  const { chance } = draw;
  return Array.from({ length: 1 + chance.below(isWhole ? 7 : 3) }, () => drawStep(draw, depth, isWhole));
}

/** `isWhole`: a step of the script itself, not of a nested script. */
function drawStep(draw: Draw, depth: number, isWhole: boolean): ScriptStep {
  const { chance, ids, actors, odd } = draw;
  const ms = (): number => Math.floor(chance.exponential(draw.ms));
  const name = chance.chance(0.3) ? "errand" : "work";
  if (chance.chance(odd)) {
    const odds: (() => ScriptStep)[] = [
      () => ({ do: "activity", name, ms: ms(), fails: 1 + chance.below(2) }),
      () => ({ do: "activity", name, ms: ms(), fails: 9, attempts: 2 }),
      () => ({ do: "activity", name, ms: 0, attempts: 1 + chance.below(2), hangsMs: 200 + ms() }),
      () => ({ do: "activity", name, ms: Math.floor(chance.between(1_000, 8_000)) }),
      () => ({ do: "signal", name: chance.pick(SIGNALS) }),
      () => ({ do: "sleep", ms: Math.floor(chance.between(2_000, 15_000)) }),
      () => ({ do: "fail" }),
    ];
    return chance.pick(odds)();
  }
  const parts = (): ScriptStep[][] =>
    Array.from({ length: 2 + chance.below(3) }, () => drawSteps(draw, depth - 1, false));
  const kinds: (() => ScriptStep)[] = [
    () => ({ do: "activity", name, ms: ms() }),
    () => ({ do: "activity", name: "work", ms: ms() }),
    () => ({ do: "activity", name: "work", ms: 0 }),
    () => ({ do: "sleep", ms: 10 + ms() * 5 }),
    () => ({ do: "signal", name: chance.pick(SIGNALS), within: 50 + ms() * 10 }),
    () => ({ do: "bells", count: 1 + chance.below(4), within: 50 + ms() * 10 }),
    () => ({ do: "tell", workflow: chance.pick(ids), name: chance.pick([...SIGNALS, BELL]) }),
    () => ({ do: "note" }),
    ...(actors.length > 0 ? [(): ScriptStep => ({ do: "actor", ...chance.pick(actors) })] : []),
    ...(isWhole ? [(): ScriptStep => ({ do: "again" })] : []),
    ...(depth > 0
      ? [
          (): ScriptStep => ({ do: "all", parts: parts() }),
          (): ScriptStep => ({ do: "race", parts: parts() }),
          (): ScriptStep => ({
            do: "child",
            steps: drawSteps(draw, depth - 1, true),
            waits: chance.chance(0.7),
            onParentClose: chance.pick(["terminate", "cancel", "abandon"]),
          }),
        ]
      : []),
  ];
  return chance.pick(kinds)();
}

/** Calls whose turns start and signal workflows. Each start has its own id. */
function drawTurns(draw: Draw, callers: readonly PlannedHost[], chaosMs: number): PlannedCall[] {
  const { chance, actors, ids } = draw;
  const everyMs = chance.between(1_000, 6_000);
  const calls: PlannedCall[] = [];
  for (let at = chance.exponential(everyMs); at < chaosMs; at += chance.exponential(everyMs)) {
    const { type, id } = chance.pick(actors);
    const what = chance.chance(0.5)
      ? { starts: { workflow: `turn-${calls.length}`, steps: drawSteps(draw, 1, true) } }
      : { signals: { workflow: chance.pick(ids), name: chance.pick([...SIGNALS, BELL]) } };
    const how = { ...what, ...(chance.chance(0.15) ? { throws: "late" as const } : {}) };
    const from = chance.pick(callers).name;
    calls.push({ at: Math.floor(at), from, type, id, method: "remind", how, timeoutMs: 10_000 });
  }
  return calls;
}
