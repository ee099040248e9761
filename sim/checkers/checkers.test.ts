// Tests of the checkers: each must accept a correct sequence of events and report a faulty one.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../../src/kernel/errors.ts";
import type { Host } from "../../src/ports/host-admin.ts";
import type { Commit, CommitVerdict, StateWrite, Taken } from "../../src/ports/store/store.ts";
import type { DatabaseWatcher } from "../../src/world/database/database.ts";
import type { Process } from "../../src/world/process.ts";
import type { Life, Operation, Turn } from "../observer.ts";
import type { CallHow, Plan, PlannedHost } from "../plan.ts";
import { run } from "../run.ts";
import type { Stage } from "../stage.ts";
import { CHECKERS } from "./all.ts";
import type { Checker } from "./checker.ts";

const KEY = { namespace: "default", type: "Ledger", id: "a" };

interface FakeProcess {
  readonly number: number;
  readonly place: number;
  hasEnded: boolean;
  isAsleep: boolean;
  readonly isAwake: boolean;
  clock: { monotonic(): number; now(): number };
  app: { host: Partial<Host> } | undefined;
}

/** A stage without a cluster: the test invents the observed events. */
class Scene {
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

  process(door: Partial<Host> = {}): Process {
    const number = this.processes.length + 1;
    const process = {
      number,
      place: number,
      hasEnded: false,
      isAsleep: false,
      app: { host: door },
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

  say(from: Process, to: number, message: unknown): void {
    this.checker.sent?.(from, to, message);
  }

  tell(who: string, event: string, fields?: Record<string, unknown>, level: "info" | "error" = "info"): void {
    this.checker.told?.({ at: this.now, who, level, event, fields });
  }

  /** The violations, after all promises have settled. */
  async reports(): Promise<string[]> {
    await new Promise((done) => setImmediate(done));
    return this.found;
  }
}

const clean = async (scene: Scene): Promise<void> => assert.deepEqual(await scene.reports(), []);
const reports = async (scene: Scene, what: RegExp): Promise<void> => assert.match(String(await scene.reports()), what);

const order = (fields: Record<string, unknown>): unknown => ({
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
const table = (number: number, ...addresses: string[]): unknown => {
  const hosts = addresses.map((address) => ({ address, incarnation: `i-${address}`, name: address }));
  return { type: "Ledger", version: { term: 1, number }, base: undefined, hosts };
};
const standing = (term: number, leading: boolean) => {
  return { term, leading, schedulers: [], hostLeaseMs: 1, leader: undefined };
};
const candidate = (incarnation: string) => {
  return { incarnation, address: "", dedicated: false, leaseMs: 1, hostLeaseMs: 1, machine: "m", pid: 1 };
};

describe("single committer", () => {
  it("the rule 'single committer' accepts commits that build on each other, and a repeated commit", async () => {
    const scene = new Scene("single committer");
    const [one, two] = [scene.process(), scene.process()];
    scene.commit(one, { id: "c1", version: 0 });
    scene.commit(one, { id: "c1", version: 0 });
    scene.commit(two, { epoch: 2, version: 1 });
    scene.commit(one, { epoch: 1, version: 1 }, "fenced");
    await clean(scene);
  });

  it("the rule 'single committer' reports a decreasing epoch, an epoch with two committers, and a skipped version", async () => {
    const scene = new Scene("single committer");
    const [one, two] = [scene.process(), scene.process()];
    scene.commit(one, { epoch: 2, version: 0 });
    scene.commit(two, { epoch: 1, version: 1 });
    await reports(scene, /epoch 1 after epoch 2/);
    scene.commit(one, { epoch: 1, version: 5 });
    await reports(scene, /by processes 2 and 1.*/);
    await reports(scene, /on version 5 when 2 was the last/);
  });
});

describe("no resurrection", () => {
  it("the rule 'no resurrection' accepts the last commit of a process that has ended", async () => {
    const scene = new Scene("no resurrection");
    const one = scene.process();
    scene.take(one, 1);
    scene.checker.gone?.(undefined as never, one);
    scene.at(10).commit(one, {});
    await clean(scene);
  });

  it("the rule 'no resurrection' reports a commit after the actor was taken, and a turn in an ended process", async () => {
    const scene = new Scene("no resurrection");
    const [one, two] = [scene.process(), scene.process()];
    scene.take(one, 1);
    scene.take(two, 2);
    scene.commit(one, { epoch: 1 });
    await reports(scene, /process 1 committed Ledger\/a in epoch 1 when process 2 had taken it in epoch 2/);
    scene.checker.gone?.(undefined as never, two);
    scene.at(1).checker.turnBegan?.(scene.turn(scene.life(two, 1), "default:1"));
    await reports(scene, /process 2 has ended, and Ledger\/a begins default:1/);
  });
});

describe("epoch order", () => {
  it("the rule 'epoch order' accepts increasing epochs and terms", async () => {
    const scene = new Scene("epoch order");
    const one = scene.process();
    scene.take(one, 10);
    scene.take(one, 25);
    scene.checker.campaigned?.(one, candidate("x"), standing(1, true));
    scene.say(one, 2, order({}));
    await clean(scene);
  });

  it("the rule 'epoch order' reports a repeated epoch, a term with two leaders, and orders of another leader's term", async () => {
    const scene = new Scene("epoch order");
    const [one, two] = [scene.process(), scene.process()];
    scene.take(one, 2);
    scene.take(two, 2);
    await reports(scene, /epoch 2 after epoch 2/);
    scene.checker.campaigned?.(one, candidate("x"), standing(2, true));
    scene.checker.campaigned?.(two, candidate("y"), standing(2, true));
    await reports(scene, /term 2 was given to x of process 1 and to y of process 2/);
    scene.checker.campaigned?.(two, candidate("y"), standing(1, false));
    await reports(scene, /term 1 came after term 2/);
    scene.say(two, 1, order({ term: 2 }));
    await reports(scene, /process 2 speaks as the leader of term 2/);
  });
});

describe("own rows", () => {
  it("the rule 'own rows' accepts rows with words of their own actor, in different epochs", async () => {
    const scene = new Scene("own rows");
    const [one, two] = [scene.process(), scene.process()];
    scene.ask(one, "1");
    scene.take(one, 1);
    scene.commit(one, { entries: ["default:1"] });
    scene.take(two, 2, ["default:1"]);
    await clean(scene);
  });

  it("the rule 'own rows' reports a state with a word of another actor, and an epoch that is assigned twice", async () => {
    const scene = new Scene("own rows");
    const [one, two] = [scene.process(), scene.process()];
    scene.ask(one, "1", "append", {}, "Purse");
    scene.take(one, 7);
    scene.commit(one, { entries: ["default:1"] });
    await reports(scene, /default:1 is in the row of Ledger\/a of default/);
    scene.take(two, 7);
    await reports(scene, /epoch 7 of row 1 was assigned twice/);
  });
});

describe("take before read", () => {
  const IN_SHARDS = { shards: 1, strategy: "least", rebalance: 1_000, handOff: 1_000 } as const;

  it("the rule 'take before read' accepts an activation that begins with the state it took", async () => {
    const scene = new Scene("take before read");
    const one = scene.process();
    const life = scene.life(one, 1);
    scene.take(one, 1, ["x"]);
    scene.checker.activated?.(life, ["x"]);
    scene.checker.turnBegan?.(scene.turn(life, "default:1"));
    await clean(scene);
  });

  it("the rule 'take before read' reports an activation without its own take, and one that begins with another state", async () => {
    const scene = new Scene("take before read");
    const one = scene.process();
    scene.take(one, 1, ["x"]);
    scene.at(5);
    const life = scene.life(one, 1);
    scene.checker.activated?.(life, ["x"]);
    await reports(scene, /without a take/);
    scene.take(one, 2, ["x", "y"]);
    scene.checker.activated?.(life, ["x"]);
    await reports(scene, /with \["x"\], and what it took is \["x","y"\]/);
  });

  it("the rule 'take before read' accepts one activation per prefetched take of a shard, unless another process took the actor since", async () => {
    const scene = new Scene("take before read", { sharded: { Ledger: IN_SHARDS } });
    const [one, two] = [scene.process(), scene.process()];
    scene.take(one, 1, ["x"]);
    scene.at(5);
    const life = scene.life(one, 1);
    scene.checker.activated?.(life, ["x"]);
    scene.checker.turnBegan?.(scene.turn(life, "default:1"));
    await clean(scene);
    scene.at(6);
    scene.checker.activated?.(scene.life(one, 2), ["x"]);
    await reports(scene, /without a take/);
    scene.take(one, 2, ["x"]);
    scene.take(two, 3, ["x"]);
    scene.at(7);
    scene.checker.activated?.(scene.life(one, 3), ["x"]);
    await reports(scene, /without a take/);
  });
});

describe("single runner", () => {
  const holding = (isHeld: () => boolean): Partial<Host> => ({
    list: async () => {
      const actor = { type: "Ledger", id: "a", active: true, waiting: 0, epoch: 1, version: 1, bytes: undefined };
      return { actors: isHeld() ? [actor] : [], next: undefined };
    },
  });

  it("the rule 'single runner' accepts an activation that begins after the earlier one has ended, also without a report", async () => {
    const scene = new Scene("single runner");
    const one = scene.process(holding(() => false));
    scene.checker.activated?.(scene.life(one, 1));
    scene.checker.activated?.(scene.life(scene.process(), 2));
    await clean(scene);
  });

  it("the rule 'single runner' reports two activations at once", async () => {
    const scene = new Scene("single runner");
    const one = scene.process(holding(() => true));
    scene.checker.activated?.(scene.life(one, 1));
    scene.checker.activated?.(scene.life(scene.process(), 2));
    await reports(scene, /active at process 2 while it lives at process 1/);
  });

  it("the rule 'single runner' excuses a process that slept through its lease, and not the turns it then begins", async () => {
    const scene = new Scene("single runner");
    const one = scene.process(holding(() => true));
    const life = scene.life(one, 1);
    scene.checker.activated?.(life);
    scene.checker.slept?.(one, 20_000, "pause");
    (one as unknown as FakeProcess).isAsleep = true;
    const two = scene.process(holding(() => false));
    scene.at(11_000).checker.activated?.(scene.life(two, 2));
    await clean(scene);
    assert.deepEqual(scene.excused, ["single runner"]);
    scene.checker.turnBegan?.(scene.turn(life, "default:1"));
    await reports(scene, /begins default:1 at process 1 after it has come to life at process 2/);
  });

  it("the rule 'single runner' reports an answer of a turn that ended after a newer activation had begun", async () => {
    const scene = new Scene("single runner");
    const one = scene.process(holding(() => false));
    const life = scene.life(one, 1);
    const turn = scene.turn(life, "default:1");
    const operation = scene.ask(one, "1", "read");
    scene.checker.activated?.(life);
    scene.checker.turnBegan?.(turn);
    scene.checker.activated?.(scene.life(scene.process(), 2));
    scene.checker.turnEnded?.(turn);
    await clean(scene);
    scene.answer(operation, { value: [] });
    await reports(scene, /was answered by a turn that ended at process 1 after it has come to life at process 2/);
  });

  it("the rule 'single runner' does not excuse a short sleep, nor one that ended long ago", async () => {
    for (const [ms, at] of [
      [500, 400],
      [20_000, 40_000],
    ] as const) {
      const scene = new Scene("single runner");
      const one = scene.process(holding(() => true));
      scene.checker.activated?.(scene.life(one, 1));
      scene.checker.slept?.(one, ms, "pause");
      scene.at(at).checker.activated?.(scene.life(scene.process(), 2));
      await reports(scene, /active at process 2/);
    }
  });

  it("the rule 'single runner' excuses a process whose clocks stood still", async () => {
    const scene = new Scene("single runner");
    const one = scene.process(holding(() => true));
    scene.at(0).checker.activated?.(scene.life(one, 1));
    (one as unknown as FakeProcess).clock = { monotonic: () => 0, now: () => 0 };
    scene.at(9_000).checker.activated?.(scene.life(scene.process(), 2));
    await clean(scene);
    assert.deepEqual(scene.excused, ["single runner"]);
  });
});

describe("turn exclusion", () => {
  it("the rule 'turn exclusion' accepts consecutive turns", async () => {
    const scene = new Scene("turn exclusion");
    const life = scene.life(scene.process(), 1);
    const [first, second] = [scene.turn(life, "default:1"), scene.turn(life, "default:2")];
    scene.checker.activated?.(life);
    scene.checker.turnBegan?.(first);
    scene.checker.turnEnded?.(first);
    scene.checker.turnBegan?.(second);
    await clean(scene);
  });

  it("the rule 'turn exclusion' reports concurrent turns, and a turn after the end", async () => {
    const scene = new Scene("turn exclusion");
    const life = scene.life(scene.process(), 1);
    scene.checker.turnBegan?.(scene.turn(life, "default:1"));
    scene.checker.turnBegan?.(scene.turn(life, "default:2"));
    await reports(scene, /begins default:2 while default:1 runs/);
    scene.checker.deactivated?.(life, "idle");
    scene.checker.turnBegan?.(scene.turn(life, "default:3"));
    await reports(scene, /begins default:3 after its end/);
  });
});

describe("routing agreement", () => {
  const knowing = (owner: string, here: boolean): Partial<Host> => ({
    where: async (type, id) => {
      const names = { ownerName: undefined, sticky: undefined, activeHere: here, why: "", since: -100 };
      return { type, id, owner, here, version: 3, term: 1, ...names };
    },
  });
  const twoHosts = (): Partial<Plan> => {
    const host = { machine: "m", namespace: "default", types: ["Ledger"], dedicated: false, watches: false, clock: {} };
    const named = (name: string) => ({ ...host, name, startsAt: 0 });
    return { hosts: [named("host-1"), named("host-2")] };
  };

  it("the rule 'routing agreement' accepts hosts that agree", async () => {
    const scene = new Scene("routing agreement", twoHosts());
    const one = scene.process(knowing("x", true));
    scene.process(knowing("x", false));
    scene.at(0).checker.turnBegan?.(scene.turn(scene.life(one, 1), "default:1"));
    scene.say(one, 2, order({ tables: [table(1, "x")] }));
    scene.say(one, 3, order({ tables: [table(1, "x")] }));
    await clean(scene);
  });

  it("the rule 'routing agreement' reports hosts that disagree, a turn of another host's actor, and a version with two contents", async () => {
    const scene = new Scene("routing agreement", twoHosts());
    scene.process(knowing("x", true));
    const two = scene.process(knowing("y", false));
    scene.at(0).checker.turnBegan?.(scene.turn(scene.life(two, 1), "default:1"));
    await reports(scene, /belongs to x for process 1, to y for process 2/);
    await reports(scene, /begins default:1 at process 2, and it belongs to y/);
    scene.say(two, 1, order({ tables: [table(1, "x")] }));
    scene.say(two, 1, order({ tables: [table(1, "y")] }));
    await reports(scene, /names x \(i-x\), and then y \(i-y\)/);
  });
});

describe("routing agreement over time", () => {
  function twoVersions(first: number, second: number, between: (scene: Scene) => void): Scene {
    const scene = new Scene("routing agreement");
    let version = first;
    scene.process({
      where: async (type, id) => {
        const rest = { ownerName: undefined, sticky: undefined, here: true, activeHere: true, why: "", since: 0 };
        return { type, id, owner: "x", version, term: 1, ...rest };
      },
    });
    scene.at(0);
    setImmediate(() => {
      version = second;
      between(scene);
      scene.at(1_000);
    });
    return scene;
  }

  it("the rule 'routing agreement' accepts a newer table, and any table on a host that starts again", async () => {
    for (const scene of [
      twoVersions(1, 2, () => {}),
      twoVersions(2, 1, (each) => each.tell("host-1", "membership.removed")),
    ]) {
      await scene.reports();
      await clean(scene);
    }
  });

  it("the rule 'routing agreement' reports a host that goes back to an older table", async () => {
    const scene = twoVersions(2, 1, () => {});
    await scene.reports();
    await reports(scene, /process 1 goes back to table 1 of term 1 of Ledger from 2 of term 1/);
  });
});

describe("unmoved ids never blocked", () => {
  const at = (version: () => number): Partial<Host> => ({
    status: () => ({ address: "x", problem: undefined }) as ReturnType<Host["status"]>,
    where: async (type, id) => {
      const rest = { ownerName: undefined, sticky: undefined, activeHere: true, why: "", since: 0 };
      return { type, id, owner: "x", here: true, version: version(), term: 1, ...rest };
    },
  });
  async function moved(second: string): Promise<Scene> {
    const scene = new Scene("unmoved ids never blocked");
    let version = 1;
    const one = scene.process(at(() => version));
    const life = scene.life(one, 1);
    scene.say(one, 2, order({ tables: [table(1, "x")] }));
    scene.checker.activated?.(life);
    await scene.reports();
    scene.say(one, 2, order({ tables: [table(2, second)] }));
    scene.say(one, 2, order({ tables: [table(3, "x")] }));
    version = 3;
    scene.checker.deactivated?.(life, "moved");
    return scene;
  }

  it("the rule 'unmoved ids never blocked' accepts an actor that had to move and came back", async () =>
    clean(await moved("y")));

  it("the rule 'unmoved ids never blocked' reports an actor that was released without a reason", async () =>
    reports(await moved("x"), /had to leave process 1, its owner from 1 to 3/));

  it("the rule 'unmoved ids never blocked' reports a host that gives up everything without a reason, and not one whose lease has ended", async () => {
    const hello = (incarnation: string) => ({ about: "host", message: { kind: "hello", name: "host-1", incarnation } });
    const scene = new Scene("unmoved ids never blocked");
    const one = scene.process();
    scene.say(one, 2, hello("a"));
    scene.tell("host-1", "lease.lost");
    scene.say(one, 2, hello("b"));
    await clean(scene);
    scene.say(one, 2, hello("c"));
    await reports(scene, /host-1 gave up everything/);
  });

  it("the rule 'unmoved ids never blocked' reports NOT_SETTLED for an actor that stayed", async () => {
    const scene = new Scene("unmoved ids never blocked");
    const one = scene.process(at(() => 1));
    scene.checker.activated?.(scene.life(one, 1));
    const operation = scene.at(5).ask(scene.process(), "1");
    scene.answer(operation, { error: new LimpetError("NOT_SETTLED", "x") });
    await reports(scene, /was told NOT_SETTLED, and Ledger\/a was at process 1 all along/);
  });
});

describe("isolation", () => {
  const host = { machine: "m", types: ["Ledger"], dedicated: false, watches: false, clock: {}, startsAt: 0 };
  const both: Partial<Plan> = {
    hosts: [
      { ...host, name: "host-1", namespace: "default" },
      { ...host, name: "host-2", namespace: "other" },
    ],
  };

  it("the rule 'isolation' accepts words of the same namespace", async () => {
    const scene = new Scene("isolation", both);
    const one = scene.process();
    scene.answer(scene.ask(one, "1", "read"), { value: ["default:0"] });
    scene.take(one, 1, ["default:0"]);
    scene.say(one, 1, { kind: "call", call: KEY });
    scene.say(one, 1, order({}));
    scene.listed = [{ type: "Ledger", id: "a" }];
    await clean(scene);
  });

  it("the rule 'isolation' reports words of another namespace at any place", async () => {
    const scene = new Scene("isolation", both);
    const one = scene.process();
    scene.answer(scene.ask(one, "1", "read"), { value: ["default:0", "other:1"] });
    await reports(scene, /other:1 is in the answer to default:1 of default/);
    scene.take(one, 1, ["other:2"]);
    await reports(scene, /other:2 is in the state of Ledger\/a/);
    scene.say(one, 1, { kind: "call", call: { ...KEY, namespace: "other" } });
    await reports(scene, /process 1 of default calls Ledger\/a of other/);
    scene.say(one, 2, order({ namespace: "default" }));
    await reports(scene, /a host of other is told tables of default/);
    scene.listed = [{ type: "Ledger", id: "b" }];
    scene.checker.healed?.();
    await reports(scene, /default lists default\/Ledger\/b, and has default\/Ledger\/a/);
  });
});

describe("bounds", () => {
  const waiting = (count: number): Partial<Host> => ({
    list: async () => {
      const actor = { type: "Ledger", id: "a", active: true, waiting: count, epoch: 1, version: 1, bytes: undefined };
      return { actors: [actor], next: undefined };
    },
  });

  it("the rule 'bounds' accepts sizes in proportion to the run", async () => {
    const scene = new Scene("bounds");
    scene.world.network.open = 4;
    scene.world.timeline.planned = 100;
    scene.process(waiting(1));
    await clean(scene.at(0));
  });

  it("the rule 'bounds' reports a mailbox above its limit", async () => {
    const limited = (count: number): Scene => {
      const scene = new Scene("bounds", { settings: { mailboxLimit: 1 } });
      scene.process(waiting(count));
      return scene.at(0);
    };
    await clean(limited(1));
    await reports(limited(2), /2 calls wait for Ledger\/a, and 1 may/);
  });

  it("the rule 'bounds' reports growing connections, events and mailboxes", async () => {
    const scene = new Scene("bounds");
    scene.world.network.open = 4_000;
    scene.world.timeline.planned = 1_000_000;
    scene.process(waiting(50));
    scene.at(0);
    await reports(scene, /4000 connections among 1 hosts/);
    await reports(scene, /1000000 happenings are planned/);
    await reports(scene, /50 calls wait for Ledger\/a/);
  });
});

describe("linearizable ledgers", () => {
  /** Two consecutive appends with their outcomes. */
  function history(entries: readonly string[], outcomes: readonly NonNullable<Operation["outcome"]>[]): Scene {
    const scene = new Scene("linearizable ledgers");
    const one = scene.process();
    scene.take(one, 1);
    for (const [i, outcome] of outcomes.entries()) {
      scene.now = i * 10;
      const operation = scene.ask(one, `${i + 1}`);
      scene.now = i * 10 + 5;
      scene.answer(operation, outcome);
    }
    scene.commit(one, { entries });
    scene.now = 100;
    return scene;
  }
  function read(scene: Scene, beganAt: number, value: readonly string[]): void {
    scene.now = beganAt;
    const operation = scene.ask(scene.processes[0] as unknown as Process, `read-${beganAt}`, "read");
    scene.now = beganAt + 1;
    scene.answer(operation, { value });
  }
  const judged = (scene: Scene): Scene => {
    scene.checker.healed?.();
    return scene;
  };

  it("the rule 'linearizable ledgers' accepts entries in one order, with or without those of unknown outcome", async () => {
    const unknown = { error: new LimpetError("ANSWER_LOST", "x") };
    await clean(judged(history(["default:1", "default:2"], [{ value: 1 }, { value: 2 }])));
    await clean(judged(history(["default:1"], [unknown])));
    await clean(judged(history([], [unknown])));
    const scene = history(["default:1", "default:2"], [{ value: 1 }, { value: 2 }]);
    read(scene, 7, ["default:1"]);
    read(scene, 50, ["default:1", "default:2"]);
    read(scene, 60, ["default:1", "default:2"]);
    await clean(judged(scene));
  });

  it("the rule 'linearizable ledgers' reports entries that are lost, repeated, misplaced, or present although they were rejected", async () => {
    await reports(judged(history([], [{ value: 1 }])), /default:1 was acknowledged and is lost/);
    await reports(judged(history(["default:1", "default:1"], [{ value: 1 }])), /is there 2 times/);
    await reports(judged(history(["default:1"], [{ value: 2 }])), /told that its place is 2, and it is 1/);
    const swapped = history(["default:2", "default:1"], [{ value: 2 }, { value: 1 }]);
    await reports(judged(swapped), /default:1 had ended before default:2 began, and stands behind it/);
    const refused = { error: new LimpetError("FENCED", "x") };
    await reports(judged(history(["default:1"], [refused])), /is there, and its caller was told/);
    await reports(judged(history(["default:1"], [{ error: new Error("late") }])), /is there, and its caller/);
  });

  it("the rule 'linearizable ledgers' reports a read that misses an acknowledged entry, or sees one that never existed", async () => {
    const stale = history(["default:1", "default:2"], [{ value: 1 }, { value: 2 }]);
    read(stale, 50, ["default:1"]);
    await reports(judged(stale), /default:2 had ended|default:read-50 had ended|stands behind it/);
    const strange = history(["default:1"], [{ value: 1 }]);
    read(strange, 50, ["default:9"]);
    await reports(judged(strange), /has read default:9, which was never stored/);
    const wrong = history(["default:1"], [{ value: 1 }]);
    read(wrong, 50, ["default:1", "default:9"]);
    await reports(judged(wrong), /has read default:9 at place 2/);
  });

  it("the rule 'linearizable ledgers' follows a ledger through a clear", async () => {
    const wiped = (isCleared: boolean): Scene => {
      const scene = history(["default:1"], [{ value: 1 }]);
      const one = scene.processes[0] as unknown as Process;
      scene.now = 110;
      const wipe = scene.ask(one, "wipe", "wipe");
      if (isCleared) scene.commit(one, { write: { kind: "clear" } });
      scene.now = 120;
      scene.answer(wipe, { value: undefined });
      scene.now = 130;
      const append = scene.ask(one, "3");
      scene.commit(one, { entries: isCleared ? ["default:3"] : ["default:1", "default:3"] });
      scene.now = 140;
      scene.answer(append, { value: isCleared ? 1 : 2 });
      return judged(scene);
    };
    await clean(wiped(true));
    await reports(wiped(false), /default:wipe wiped default:1, and it is there with default:3/);
  });
});

describe("fail closed", () => {
  function answeredWhileDown(beganAt: number): Scene {
    const scene = new Scene("fail closed");
    const one = scene.process();
    scene.now = beganAt;
    const operation = scene.ask(one, "1");
    scene.world.database.troubles.isDown = true;
    scene.at(Math.max(beganAt, 10));
    if (beganAt > 10) scene.now = beganAt + 5;
    scene.answer(operation, { value: 1 });
    return scene;
  }

  it("the rule 'fail closed' accepts an append that began before the database failed", async () =>
    clean(answeredWhileDown(5)));

  it("the rule 'fail closed' reports an acknowledgement without the database, and a commit to it", async () => {
    const scene = new Scene("fail closed");
    scene.world.database.troubles.isReadOnly = true;
    const one = scene.at(10).process();
    scene.now = 20;
    const operation = scene.ask(one, "1");
    scene.answer(operation, { value: 1 });
    await reports(scene, /was acknowledged while nothing could be written since 10 ms/);
    scene.commit(one, {});
    await reports(scene, /committed to a closed database/);
  });
});

describe("answered in time", () => {
  it("the rule 'answered in time' accepts an answer in time, and none while the caller sleeps", async () => {
    const scene = new Scene("answered in time");
    const one = scene.process();
    const operation = scene.ask(one, "1");
    scene.at(900).answer(operation, { value: 1 });
    scene.ask(one, "2");
    (one as unknown as FakeProcess).isAsleep = true;
    await clean(scene.at(5_000).at(6_000).at(7_000));
  });

  it("the rule 'answered in time' reports a call without an answer, and one with two", async () => {
    const scene = new Scene("answered in time");
    const operation = scene.ask(scene.process(), "1");
    await reports(scene.at(2_500).at(3_000), /default:1 on Ledger\/a has no answer 1000 ms and more/);
    scene.answer(operation, { value: 1 });
    scene.answer(operation, { value: 1 });
    await reports(scene, /default:1 was answered twice/);
  });
});

describe("nothing left", () => {
  it("the rule 'nothing left' accepts an empty world", async () => {
    const scene = new Scene("nothing left");
    scene.checker.over?.();
    await clean(scene);
  });

  it("the rule 'nothing left' reports processes, connections and members", async () => {
    const scene = new Scene("nothing left");
    scene.process();
    scene.world.network.open = 2;
    scene.members = [{ incarnation: "x", address: "1.2.3.4:1", types: [] }];
    scene.checker.over?.();
    await reports(scene, /host-1 still run/);
    await reports(scene, /2 connections are still open/);
    await reports(scene, /still lists as members: 1\.2\.3\.4:1 \(x\)/);
  });
});

describe("honest errors", () => {
  const told = (error: unknown, how: CallHow = {}): Scene => {
    const scene = new Scene("honest errors");
    scene.answer(scene.ask(scene.process(), "1", "append", how), { error });
    return scene;
  };

  it("the rule 'honest errors' accepts faults, the error of the actor, and a real cycle", async () => {
    await clean(told(new LimpetError("CALL_TIMEOUT", "x")));
    await clean(told(new Error("late"), { throws: "late" }));
    await clean(told(new LimpetError("CALL_CYCLE", "x"), { via: [{ type: "Ledger", id: "a" }] }));
  });

  it("the rule 'honest errors' reports every other error", async () => {
    await reports(told(new LimpetError("INVARIANT", "x")), /is not what can happen to such a call/);
    await reports(told(new TypeError("x")), /is neither of the catalogue nor what the actor threw/);
    await reports(told(new Error("late")), /is neither of the catalogue nor what the actor threw/);
    await reports(told(new LimpetError("CALL_CYCLE", "x")), /names a cycle that is none/);
    await reports(told("x"), /is no error/);
  });
});

describe("leadership", () => {
  const host = { machine: "m", namespace: "default", types: [], dedicated: false, watches: false, clock: {} };
  const two: Partial<Plan> = {
    hosts: [
      { ...host, name: "host-1", startsAt: 0 },
      { ...host, name: "host-2", startsAt: 0 },
    ],
  };
  const believing = (leads: boolean): Partial<Host> => ({
    status: () => ({ scheduler: { address: "x", leads } }) as ReturnType<Host["status"]>,
  });

  it("the rule 'leadership' accepts a leader whose predecessor has stepped down, stopped, or sleeps", async () => {
    const scene = new Scene("leadership", two);
    const one = scene.process(believing(true));
    scene.process(believing(true));
    scene.tell("host-1", "leader.elected", { term: 1 });
    scene.tell("host-1", "leader.stepped-down", { term: 1 });
    scene.tell("host-2", "leader.elected", { term: 2 });
    scene.tell("host-2", "leader.stepped-down", { term: 2 });
    scene.tell("host-2", "leader.elected", { term: 3 });
    for (const watcher of scene.world.database.watchers) watcher.asks?.(scene.processes[1] as never, "resign");
    scene.tell("host-1", "leader.elected", { term: 4 });
    scene.checker.slept?.(one, 60_000, "pause");
    (one as unknown as FakeProcess).isAsleep = true;
    scene.at(5_000).tell("host-2", "leader.elected", { term: 5 });
    await clean(scene);
    assert.deepEqual(scene.excused, ["leadership"]);
  });

  it("the rule 'leadership' reports two leaders, a repeated term, and orders of an ended term", async () => {
    const scene = new Scene("leadership", two);
    const one = scene.process(believing(true));
    scene.process(believing(true));
    scene.tell("host-1", "leader.elected", { term: 1 });
    scene.tell("host-2", "leader.elected", { term: 2 });
    await reports(scene, /host-2 leads in term 2 while host-1 believes to lead in term 1/);
    scene.tell("host-2", "leader.elected", { term: 2 });
    await reports(scene, /begins to lead in term 2, and there was term 2/);
    scene.say(one, 2, order({ term: 1 }));
    await reports(scene, /process 1 speaks in term 1 when term 2 had begun/);
  });
});

describe("quiet log", () => {
  it("the rule 'quiet log' accepts lines below the level error, and lines of the simulator", async () => {
    const scene = new Scene("quiet log");
    scene.tell("host-1", "something");
    scene.tell("", "something", {}, "error");
    await clean(scene);
  });

  it("the rule 'quiet log' reports an error of a host", async () => {
    const scene = new Scene("quiet log");
    scene.tell("host-1", "turn.rollback-failed", {}, "error");
    await reports(scene, /host-1 +turn.rollback-failed/);
  });
});

describe("at most once", () => {
  it("the rule 'at most once' accepts a call that runs once, and a chain that calls the same actor twice", async () => {
    const scene = new Scene("at most once");
    const one = scene.process();
    const life = scene.life(one, 1);
    const way = { type: "Ledger", id: "a" };
    scene.ask(one, "1");
    scene.ask(one, "2", "append", { via: [way, way] });
    for (const op of ["default:1", "default:2>a", "default:2>a"]) scene.checker.turnBegan?.(scene.turn(life, op));
    await clean(scene);
  });

  it("the rule 'at most once' reports a call that runs twice, on any host", async () => {
    const scene = new Scene("at most once");
    const [one, two] = [scene.process(), scene.process()];
    scene.ask(one, "1");
    scene.checker.turnBegan?.(scene.turn(scene.life(one, 1), "default:1"));
    scene.checker.turnBegan?.(scene.turn(scene.life(two, 2), "default:1"));
    await reports(scene, /default:1 begins for the 2\. time on Ledger\/a/);
  });
});

describe("noted before granted", () => {
  function granted(types: string[]): Scene {
    const scene = new Scene("noted before granted");
    const [one, two] = [scene.process(), scene.process()];
    scene.members = [{ incarnation: "i-x", address: "x", types }];
    scene.say(two, 1, { about: "host", message: { kind: "hello", incarnation: "i-x" } });
    scene.say(one, 2, order({ tables: [table(1, "x")] }));
    return scene;
  }

  it("the rule 'noted before granted' accepts a host that is in the store", async () => clean(granted(["Ledger"])));

  it("the rule 'noted before granted' reports a host that is not in the store, or not with this type", async () =>
    reports(granted([]), /x \(i-x\) is in a table of Ledger, and the store does not know/));
});

describe("leases honoured", () => {
  const host = { machine: "m", namespace: "default", types: [], dedicated: false, watches: false, clock: {} };
  const two: Partial<Plan> = {
    hosts: [
      { ...host, name: "host-1", startsAt: 0 },
      { ...host, name: "host-2", startsAt: 0 },
    ],
  };
  function renewed(): { scene: Scene; leader: Process; life: Life } {
    const scene = new Scene("leases honoured", two);
    const [leader, process] = [scene.process(), scene.process()];
    scene.checker.campaigned?.(leader, { ...candidate("x"), leaseMs: 3_000 }, standing(1, true));
    scene.say(leader, 2, { about: "scheduler", message: { kind: "welcome", term: 1, leaseMs: 10_000 } });
    scene.say(process, 1, { about: "host", message: { kind: "renew", sequence: 1, actors: 0 } });
    scene.at(1_000).say(leader, 2, { about: "scheduler", message: { kind: "renewed", sequence: 1 } });
    return { scene, leader, life: scene.life(process, 1) };
  }

  it("the rule 'leases honoured' accepts turns and orders during a lease", async () => {
    const { scene, leader, life } = renewed();
    scene.at(2_000).say(leader, 2, order({}));
    scene.at(6_900).checker.turnBegan?.(scene.turn(life, "default:1"));
    await clean(scene);
  });

  it("the rule 'leases honoured' reports a turn and an order after the lease, also without a competitor", async () => {
    const { scene, leader, life } = renewed();
    scene.at(8_000).checker.turnBegan?.(scene.turn(life, "default:1"));
    await reports(scene, /begins default:1 at process 2, 8000 ms after its last renewal/);
    scene.say(leader, 2, order({}));
    await reports(scene, /process 1 says order 8000 ms after the store let it lead/);
  });

  it("the rule 'leases honoured' accepts turns of a host that leads when the earlier leader answers late", async () => {
    const { scene, leader, life } = renewed();
    scene.at(2_000).say(life.process, 1, { about: "host", message: { kind: "renew", sequence: 2, actors: 0 } });
    scene.at(2_500).tell("host-2", "leader.elected", { term: 2 });
    scene.at(2_540).say(leader, 2, { about: "scheduler", message: { kind: "renewed", sequence: 2 } });
    scene.at(12_000).checker.turnBegan?.(scene.turn(life, "default:1"));
    await clean(scene);
  });
});

describe("no needless eviction", () => {
  const host = { machine: "m", namespace: "default", types: [], dedicated: false, watches: false, clock: {} };
  const two: Partial<Plan> = {
    hosts: [
      { ...host, name: "host-1", startsAt: 0 },
      { ...host, name: "host-2", startsAt: 0 },
    ],
  };
  function evicted(trouble: (scene: Scene, process: Process) => void): Scene {
    const scene = new Scene("no needless eviction", two);
    const processes = [scene.process(), scene.process()];
    for (const process of processes) scene.checker.started?.(undefined as never, process);
    trouble(scene.at(6_000), processes[1]!);
    scene.at(8_000).tell("host-1", "host.evicted", { name: "host-2" });
    return scene;
  }

  it("the rule 'no needless eviction' accepts the eviction of a host that slept, or has just come back", async () => {
    await clean(evicted((scene, process) => scene.checker.slept?.(process, 1_000, "pause")));
    await clean(evicted((scene, process) => scene.say(process, 1, { about: "host", message: { kind: "hello" } })));
    await clean(evicted((scene) => scene.tell("", "⚡ something", { ms: 100 })));
  });

  it("the rule 'no needless eviction' reports the eviction of a host without a fault", async () => {
    await reports(
      evicted(() => {}),
      /host-2 was evicted, and had been well for 8000 ms/,
    );
  });
});

describe("not in vain", () => {
  function waited(trouble: (scene: Scene, life: Life) => void): Scene {
    const scene = new Scene("not in vain");
    const status = () => ({ ready: true }) as ReturnType<Host["status"]>;
    const one = scene.process({ status });
    scene.at(0);
    const operation = scene.at(9_000).ask(one, "1");
    trouble(scene.at(9_500), scene.life(one, 1));
    scene.at(10_000).answer(operation, { error: new LimpetError("CALL_TIMEOUT", "x") });
    return scene;
  }

  it("the rule 'not in vain' accepts a call that began, that waited for another one, or that waited during faults", async () => {
    await clean(waited((scene, life) => scene.checker.turnBegan?.(scene.turn(life, "default:1"))));
    await clean(waited((scene, life) => scene.checker.turnBegan?.(scene.turn(life, "default:2"))));
    await clean(waited((scene) => scene.tell("", "⚡ something", { ms: 100 })));
    await clean(waited((scene, life) => scene.checker.slept?.(life.process, 1, "pause")));
  });

  it("the rule 'not in vain' reports a call that waited without a reason", async () => {
    await reports(
      waited(() => {}),
      /default:1 on Ledger\/a never began, and everything was well/,
    );
  });
});

/** A plan with a sticky type. */
function stickyPlan(hosts: number, changes: Partial<Plan> = {}): Partial<Plan> {
  const host = { machine: "m", namespace: "default", types: ["Ledger"], dedicated: false, watches: false, clock: {} };
  return {
    hosts: Array.from({ length: hosts }, (_, i): PlannedHost => ({ ...host, name: `host-${i + 1}`, startsAt: 0 })),
    sticky: { Ledger: { lost: "reassign" } },
    ...changes,
  };
}

describe("one holder", () => {
  const holding = (...ids: string[]): Partial<Host> => ({
    sticky: async ({ here }) => {
      const where = { address: "x", name: "x", away: false, since: 0 };
      return { actors: here ? ids.map((id) => ({ type: "Ledger", id, ...where })) : [], next: undefined };
    },
  });
  const bothHold = (changes?: Partial<Plan>): { scene: Scene; one: Process } => {
    const scene = new Scene("one holder", stickyPlan(2, changes));
    const one = scene.process(holding("a", "b"));
    scene.process(holding("b"));
    return { scene, one };
  };

  it("the rule 'one holder' accepts hosts that hold different actors, and namespaces that hold the same", async () => {
    const scene = new Scene("one holder", stickyPlan(2));
    scene.process(holding("a"));
    scene.process(holding("b"));
    await clean(scene.at(0));
    const { hosts: [one, two] = [] } = stickyPlan(2);
    await clean(bothHold({ hosts: [one!, { ...two!, namespace: "other" }] }).scene.at(0));
  });

  it("the rule 'one holder' reports an actor with two holders, once", async () => {
    const { scene } = bothHold();
    await reports(scene.at(0), /^default\/Ledger\/b is held by the processes 1 and 2$/);
    await scene.at(500).reports();
    assert.equal(scene.found.length, 1);
    assert.deepEqual(scene.excused, []);
  });

  it("the rule 'one holder' excuses a host that slept through the end of its lease, until it has had time to detect it", async () => {
    const { scene, one } = bothHold();
    scene.checker.slept?.(one, 5_000, "pause");
    (one as unknown as FakeProcess).isAsleep = true;
    await clean(scene.at(4_900));
    (one as unknown as FakeProcess).isAsleep = false;
    await clean(scene.at(5_100));
    assert.deepEqual(scene.excused, ["one holder", "one holder"]);
    await reports(scene.at(9_000), /b is held by/);
  });

  it("the rule 'one holder' does not excuse a short sleep", async () => {
    const { scene, one } = bothHold();
    scene.checker.slept?.(one, 500, "pause");
    await reports(scene.at(400), /b is held by/);
  });

  it("the rule 'one holder' excuses clocks that go wrong, and a cluster that does not wait for leases", async () => {
    for (const goWrong of [
      (scene: Scene, { clock }: FakeProcess) =>
        Object.assign(clock, { monotonic: () => scene.now / 2, now: () => scene.now / 2 }),
      (scene: Scene, { clock }: FakeProcess) => Object.assign(clock, { monotonic: () => scene.now * 2 }),
      (scene: Scene) => Object.assign(scene.world.database, { offsetMs: 60_000 }),
    ]) {
      const scene = new Scene("one holder", stickyPlan(2));
      const two = [scene.process(holding()), scene.process(holding())] as unknown as FakeProcess[];
      scene.at(0);
      for (const process of two) process.app = { host: holding("b") };
      goWrong(scene, two[0]!);
      await clean(scene.at(5_000));
      assert.deepEqual(scene.excused, ["one holder"]);
    }
    await clean(bothHold({ settings: { cluster: { failover: "fast" } } }).scene.at(0));
  });
});

describe("heard before granted", () => {
  const host = (message: unknown): unknown => ({ about: "host", message });
  const leader = (message: unknown): unknown => ({ about: "scheduler", message });
  const wish = { correlation: 7, type: "Ledger", id: "a", since: 0 };
  const member = (n: number) => {
    return { incarnation: `i-${n}`, address: `x-${n}`, types: ["Ledger"], namespace: "default" };
  };

  const named = (...numbers: number[]): unknown => {
    const hosts = numbers.map((n) => ({ address: `x-${n}`, incarnation: `i-${n}`, name: `host-${n}` }));
    return { type: "Ledger", version: { term: 1, number: 1 }, base: undefined, hosts };
  };

  /** Two hosts of the first leader join the second one, which grants an actor to the first of them. */
  function granted(before: (scene: Scene, silent: Process) => void, kind = "granted", members = [3, 4]): Scene {
    const scene = new Scene("heard before granted", stickyPlan(4));
    const status = (n: number): Partial<Host> => ({
      status: () => ({ address: `x-${n}` }) as ReturnType<Host["status"]>,
    });
    const [first, second, asks, silent] = [1, 2, 3, 4].map((n) => scene.process(status(n))) as [
      ...[Process, Process, Process, Process],
    ];
    scene.members = members.map(member);
    for (const [term, at] of [
      [1, first],
      [2, second],
    ] as const) {
      for (const [n, one] of [
        [3, asks],
        [4, silent],
      ] as const) {
        scene.say(one, at.place, host({ kind: "hello", incarnation: `i-${n}`, namespace: "default" }));
        scene.say(at, one.place, leader({ kind: "welcome", term, leaseMs: 10_000 }));
      }
      scene.say(at, asks.place, order({ term, tables: [named(3, 4)] }));
    }
    scene.say(asks, 2, host({ kind: "claimed" }));
    before(scene, silent);
    scene.say(asks, 2, host({ kind: "acquire", wishes: [wish] }));
    scene.say(second, 3, leader({ kind: "acquired", answers: [{ correlation: 7, kind }] }));
    return scene;
  }

  it("the rule 'heard before granted' accepts a grant after all hosts have reported or ended, and other answers at any time", async () => {
    await clean(granted((scene, silent) => scene.say(silent, 2, host({ kind: "claimed" }))));
    await clean(granted((scene) => scene.tell("host-2", "host.removed", { host: "x-4" })));
    await clean(granted(() => {}, "owner"));
    await clean(granted(() => {}, "refused"));
  });

  it("the rule 'heard before granted' needs no report of hosts of other types or namespaces, of new ones, and of the leader itself", async () => {
    await clean(
      granted((scene) => {
        scene.members = [{ ...member(4), types: ["Purse"] }];
      }),
    );
    await clean(
      granted((scene) => {
        scene.members = [{ ...member(4), namespace: "other" }];
      }),
    );
    await clean(granted(() => {}, "granted", [2, 3]));
    const isNew = granted((scene, silent) => {
      scene.members = [member(5)];
      scene.say(silent, 2, host({ kind: "hello", incarnation: "i-5", namespace: "default" }));
      const second = scene.processes[1] as unknown as Process;
      scene.say(second, 4, leader({ kind: "welcome", term: 2, leaseMs: 10_000 }));
      scene.say(second, 4, order({ term: 2, tables: [named(3, 4, 5)] }));
    });
    await clean(isNew);
  });

  it("the rule 'heard before granted' reports a grant while a host has not reported to this leader, or another leader removed it", async () => {
    const silently = /default\/Ledger\/a is granted, and x-4 \(i-4\) has not said what it holds/;
    await reports(
      granted(() => {}),
      silently,
    );
    await reports(
      granted((scene, silent) => scene.say(silent, 1, host({ kind: "claimed" }))),
      silently,
    );
    await reports(
      granted((scene) => scene.tell("host-1", "host.removed", { host: "x-4" })),
      silently,
    );
  });

  it("the rule 'heard before granted' reports a grant after an incomplete report", async () => {
    const part = { kind: "claims", part: 1, type: "Ledger", ids: ["b"], since: [0] };
    await reports(
      granted((scene, silent) => scene.say(silent, 2, host(part))),
      /x-4 \(i-4\) has not said/,
    );
  });
});

describe("sticky actors stay", () => {
  const ready = (isReady = true): Partial<Host> => ({
    status: () => ({ address: "x", ready: isReady }) as ReturnType<Host["status"]>,
  });
  function left(
    reason: string,
    before: (scene: Scene, process: Process) => void = () => {},
    door = ready(),
    plan = stickyPlan(1),
  ): Scene {
    const scene = new Scene("sticky actors stay", plan);
    const one = scene.process(door);
    scene.say(one, 2, order({ tables: [table(1, "x", "y")] }));
    before(scene, one);
    scene.checker.deactivated?.(scene.life(one, 1), reason);
    return scene;
  }

  it("the rule 'sticky actors stay' accepts an actor that leaves by its own request, for lack of capacity, or because its host stops", async () => {
    for (const reason of ["explicit", "memory", "stop"]) await clean(left(reason));
    await clean(left("moved", () => {}, ready(false)));
  });

  it("the rule 'sticky actors stay' accepts that other actors leave because of idle time or a new table", async () => {
    const other = { ...stickyPlan(1), sticky: { Purse: { lost: "reassign" as const } } };
    for (const reason of ["idle", "moved"]) await clean(left(reason, () => {}, ready(), other));
  });

  it("the rule 'sticky actors stay' accepts a move by an operator, after a lost lease, or after the removal of the type", async () => {
    for (const why of ["sticky.release-requested", "drain.requested", "lease.lost"]) {
      await clean(left("moved", (scene) => scene.tell("host-1", why)));
      await reports(
        left("moved", (scene) => scene.tell("host-2", why)),
        /which has its type/,
      );
    }
    await clean(left("moved", (scene, one) => scene.say(one, 2, order({ tables: [table(2, "y")] }))));
    const [host] = stickyPlan(1).hosts!;
    await clean(left("moved", () => {}, ready(), stickyPlan(1, { hosts: [{ ...host!, types: [] }] })));
  });

  it("the rule 'sticky actors stay' reports an actor that leaves because it is idle", async () =>
    reports(left("idle"), /Ledger\/a has to leave process 1 because nobody calls it/));

  it("the rule 'sticky actors stay' reports an actor that leaves because of a new table that lists its host", async () => {
    await reports(left("moved"), /Ledger\/a has to leave process 1, which has its type/);
    const joined = left("moved", (scene, one) => scene.say(one, 2, order({ tables: [table(2, "x", "y", "z")] })));
    await reports(joined, /which has its type/);
  });

  it("the rule 'sticky actors stay' does not excuse events of long ago", async () => {
    const asked = left("moved", (scene) => {
      scene.tell("host-1", "sticky.release-requested");
      scene.at(60_000);
    });
    await reports(asked, /which has its type/);
    const unlisted = left("moved", (scene, one) => {
      scene.say(one, 2, order({ tables: [table(2, "y")] }));
      scene.at(60_000);
    });
    await reports(unlisted, /which has its type/);
  });
});

describe("sticky agreement", () => {
  const plan: Plan = {
    ...(stickyPlan(2) as Pick<Plan, "hosts" | "sticky">),
    seed: 1,
    settings: { cluster: { replicationFactor: 10 } },
    latency: { leastMs: 0.2, moreMs: 0.5 },
    chaosMs: 9_000,
    calls: ["host-1", "host-2"].map((from) => {
      return { at: 8_000, from, type: "Ledger", id: `of-${from}`, method: "append", how: {}, timeoutMs: 1_000 };
    }),
    faults: [],
  };
  /** Runs healing with invented reports of hosts. */
  const pretending = async (isHidden: (here: boolean) => boolean): Promise<string> => {
    const { violations } = await run(plan, (stage) => {
      const told = ({ event }: { readonly event: string }): void => {
        if (event !== "everything is healed") return;
        for (const { host } of stage.players) {
          const door = host.app.host;
          const { sticky } = door;
          door.sticky = async (query) =>
            isHidden(query.here === true) ? { actors: [], next: undefined } : sticky.call(door, query);
        }
      };
      stage.observers.push({ told });
    });
    return violations.map(({ checker, what }) => `${checker}: ${what}`).join("\n");
  };

  it("the rule 'sticky agreement' holds when the leader's record equals the actors of the hosts", async () =>
    assert.equal(await pretending(() => false), ""));

  it("the rule 'sticky agreement' reports a recorded actor without a holder, and a held actor without a record", async () => {
    const lost = await pretending((here) => here);
    assert.match(
      lost,
      /^sticky agreement: the leader believes Ledger\/of-host-\d at .+ in default, and nobody holds it/,
    );
    const secret = await pretending((here) => !here);
    assert.match(secret, /^sticky agreement: the leader does not know of Ledger\/of-host-\d at .+ in default/);
  });
});

describe("the list of checkers", () => {
  it("every checker has its own name and a rule in one sentence", () => {
    const names = CHECKERS.map(({ name }) => name);
    assert.deepEqual([...new Set(names)], names);
    for (const { rule } of CHECKERS) assert.match(rule, /^[a-z].+[^.]$/);
  });
});
