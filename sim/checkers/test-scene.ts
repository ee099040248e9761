// A stage without a cluster for tests of checkers: the test invents the observed events.
import assert from "node:assert/strict";
import type { Host } from "../../src/ports/host-admin.ts";
import type { Commit, CommitVerdict, StateWrite, Taken } from "../../src/ports/store/store.ts";
import type { DatabaseWatcher } from "../../src/world/database/database.ts";
import type { Process } from "../../src/world/process.ts";
import type { Life, Operation, Turn } from "../observer.ts";
import type { CallHow, Plan } from "../plan.ts";
import type { Stage } from "../stage.ts";
import { CHECKERS } from "./all.ts";
import type { Checker } from "./checker.ts";

export const KEY = { namespace: "default", type: "Ledger", id: "a" };

export interface FakeProcess {
  readonly number: number;
  readonly place: number;
  hasEnded: boolean;
  isAsleep: boolean;
  readonly isAwake: boolean;
  clock: { monotonic(): number; now(): number };
  app: { host: Partial<Host> } | undefined;
}

export class Scene {
  now = 0;
  readonly found: string[] = [];
  readonly excused: string[] = [];
  readonly operations: Operation[] = [];
  readonly processes: FakeProcess[] = [];
  readonly world = {
    timeline: { now: 0, steps: 0, planned: 0 },
    network: { open: 0, line: () => ({ isOpen: true, delayMs: 0, loss: 0 }) },
    database: {
      offsetMs: 0,
      watchers: [] as DatabaseWatcher[],
      troubles: { isDown: false, isReadOnly: false, failsBefore: 0, failsAfter: 0, slow: 0, holds: 0 },
      truth: {
        list: async () => this.listed,
        coordination: { members: async () => this.members },
      },
    },
  };
  listed: { type: string; id: string }[] = [];
  members: { incarnation: string; address: string; types: string[]; namespace?: string }[] = [];
  #commits = 100;
  readonly checker: Checker;
  readonly plan: Plan;

  constructor(name: string, plan: Partial<Plan> = {}) {
    const host = { name: "host-1", machine: "m", namespace: "default", types: ["Ledger"], dedicated: false };
    this.plan = {
      seed: 1,
      settings: {},
      latency: { leastMs: 1, moreMs: 1 },
      chaosMs: 1_000,
      faults: [],
      hosts: [{ ...host, watches: false, clock: {}, startsAt: 0 }],
      calls: [{ at: 0, from: "host-1", type: "Ledger", id: "a", method: "append", how: {}, timeoutMs: 1_000 }],
      ...plan,
    } as Plan;
    const kind = CHECKERS.find((each) => each.name === name);
    assert.ok(kind, `there is no checker called ${name}`);
    this.checker = kind.make(this as unknown as Stage, (what) => this.found.push(what));
  }

  get players() {
    return this.plan.hosts.map((planned, i) => {
      const host = { name: planned.name, place: i + 1, process: this.processes[i] };
      return { planned, host, types: planned.types };
    });
  }

  player(name: string) {
    return this.players.find(({ planned }) => planned.name === name)!;
  }

  excuse(name: string): void {
    this.excused.push(name);
  }

  process(host: Partial<Host> = {}): Process {
    const number = this.processes.length + 1;
    const process = {
      number,
      place: number,
      hasEnded: false,
      isAsleep: false,
      app: { host },
      get isAwake(): boolean {
        return !process.isAsleep && !process.hasEnded;
      },
      clock: { monotonic: () => this.now, now: () => this.now },
    };
    this.processes.push(process);
    return process as unknown as Process;
  }

  life(process: Process, number: number, type = "Ledger"): Life {
    return { number, process, namespace: "default", type, id: "a", bornAt: this.now };
  }

  turn(life: Life, op: string): Turn {
    return { number: 1, life, op, beganAt: this.now };
  }

  /** Advances the time, and runs periodic checks. */
  at(ms: number): this {
    this.now = ms;
    this.world.timeline.now = ms;
    this.world.timeline.steps++;
    this.checker.stepped?.();
    return this;
  }

  take(process: Process, epoch: number, entries?: readonly string[], version = 0): void {
    const state = entries && { whole: JSON.stringify({ entries }), changes: [] };
    this.checker.taken?.(process, { ...KEY, owner: "x" }, { ref: 1, epoch, version, state } as Taken);
  }

  commit(
    process: Process,
    commit: Partial<Commit> & { readonly entries?: readonly string[] },
    outcome: CommitVerdict = "committed",
  ): void {
    const { entries = [], ...rest } = commit;
    const write: StateWrite = { kind: "whole", data: JSON.stringify({ entries }) };
    const whole = { ref: 1, epoch: 1, version: 0, id: `c${++this.#commits}`, write, ...rest };
    this.checker.committed?.(process, whole, KEY, outcome);
  }

  ask(process: Process, name: string, method = "append", how: CallHow = {}, type = "Ledger"): Operation {
    const call = { at: this.now, from: "host-1", type, id: "a", method, how, timeoutMs: 1_000 };
    const operation: Operation = {
      token: `default:${name}`,
      call,
      namespace: "default",
      process,
      beganAt: this.now,
      endedAt: undefined,
      outcome: undefined,
    };
    this.operations.push(operation);
    this.checker.asked?.(operation);
    return operation;
  }

  answer(operation: Operation, outcome: NonNullable<Operation["outcome"]>): void {
    operation.outcome = outcome;
    operation.endedAt = this.now;
    this.checker.answered?.(operation);
  }

  send(from: Process, to: number, message: unknown): void {
    this.checker.sent?.(from, to, message);
  }

  log(who: string, event: string, fields?: Record<string, unknown>, level: "info" | "error" = "info"): void {
    this.checker.logged?.({ at: this.now, who, level, event, fields });
  }

  /** The violations, after all promises have settled. */
  async reports(): Promise<string[]> {
    await new Promise((done) => setImmediate(done));
    return this.found;
  }
}

export const clean = async (scene: Scene): Promise<void> => assert.deepEqual(await scene.reports(), []);
export const reports = async (scene: Scene, what: RegExp): Promise<void> =>
  assert.match(String(await scene.reports()), what);

export const order = (fields: Record<string, unknown>): unknown => ({
  about: "scheduler",
  message: {
    kind: "order",
    operation: "update",
    namespace: "default",
    term: 1,
    round: 1,
    types: ["Ledger"],
    tables: [],
    replicationFactor: 10,
    ...fields,
  },
});
export const table = (number: number, ...addresses: string[]): unknown => {
  const hosts = addresses.map((address) => ({ address, incarnation: `i-${address}`, name: address }));
  return { type: "Ledger", version: { term: 1, number }, base: undefined, hosts };
};
export const standing = (term: number, leading: boolean) => {
  return { term, leading, schedulers: [], hostLeaseMs: 1, leader: undefined };
};
export const candidate = (incarnation: string) => {
  return { incarnation, address: "", dedicated: false, leaseMs: 1, hostLeaseMs: 1, machine: "m", pid: 1 };
};
