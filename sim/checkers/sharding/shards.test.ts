// Tests of the shard checkers: each must accept a correct sequence of events and report a faulty one.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../../../src/kernel/errors.ts";
import { shardOf } from "../../../src/kernel/shards.ts";
import type { SchedulerMessage } from "../../../src/ports/control-messages.ts";
import type { Host } from "../../../src/ports/host-admin.ts";
import type { ElectionResult } from "../../../src/ports/store/coordination.ts";
import type { DatabaseWatcher } from "../../../src/world/database/database.ts";
import type { Process } from "../../../src/world/process.ts";
import type { Life, Operation, StrategyCall } from "../../observer.ts";
import type { CallHow, Plan, ShardedPlan } from "../../plan.ts";
import { run } from "../../run.ts";
import type { Stage } from "../../stage.ts";
import { CHECKERS } from "../all.ts";
import type { Checker } from "../checker.ts";

const SHARDS = 2;
const ids = Array.from({ length: 50 }, (_, i) => `box-${i}`);
const [here, neighbour] = ids.filter((id) => shardOf(id, SHARDS) === 0) as [string, string];
const elsewhere = ids.find((id) => shardOf(id, SHARDS) === 1)!;

/** A stage without a cluster: the test invents the observed events. */
class Scene {
  now = 0;
  readonly found: string[] = [];
  readonly excused: string[] = [];
  readonly operations: Operation[] = [];
  readonly processes: Process[] = [];
  readonly watchers: DatabaseWatcher[] = [];
  readonly world = {
    database: {
      offsetMs: 0,
      watchers: this.watchers,
      troubles: { isDown: false, isReadOnly: false, failsBefore: 0, failsAfter: 0, slow: 0, holds: 0 },
    },
  };
  readonly plan: Plan;
  readonly checker: Checker;
  #lives = 0;

  constructor(name: string, isSharded = true, more: Partial<ShardedPlan> = {}) {
    const host = { machine: "m", namespace: "default", types: ["Crate"], dedicated: false, watches: false, clock: {} };
    const hosts = ["host-1", "host-2"].map((one) => ({ ...host, name: one, startsAt: 0 }));
    const rule: ShardedPlan = { shards: SHARDS, strategy: "least", rebalance: 500, handOff: 1_000, ...more };
    this.plan = {
      seed: 1,
      hosts,
      settings: { cluster: { lease: "10s" } },
      chaosMs: 1_000,
      calls: [],
      faults: [],
      latency: { leastMs: 1, moreMs: 1 },
      ...(isSharded ? { sharded: { Crate: rule } } : {}),
    };
    const kind = CHECKERS.find((one) => one.name === name);
    assert.ok(kind, `there is no checker called ${name}`);
    this.checker = kind.make(this as unknown as Stage, (what) => this.found.push(what));
  }

  get players() {
    return this.plan.hosts.map((planned, i) => {
      return { planned, host: { name: planned.name, place: i + 1, process: this.processes[i] }, types: planned.types };
    });
  }

  excuse(name: string): void {
    this.excused.push(name);
  }

  /** A process with these actors in memory. */
  process(active: readonly string[] = []): Process {
    const number = this.processes.length + 1;
    const list = async () => ({ actors: active.map((id) => ({ id, epoch: 1 })), next: undefined });
    const host = { list, status: () => ({ ready: true }) } as unknown as Partial<Host>;
    const process = {
      number,
      place: number,
      hasEnded: false,
      isAsleep: false,
      isAwake: true,
      app: { host },
      clock: { monotonic: () => this.now, now: () => this.now },
    } as unknown as Process;
    this.processes.push(process);
    return process;
  }

  life(process: Process, id: string): Life {
    return { number: ++this.#lives, process, namespace: "default", type: "Crate", id, bornAt: this.now };
  }

  at(ms: number): this {
    this.now = ms;
    this.checker.stepped?.();
    return this;
  }

  ask(process: Process, name: string, id = here, how: CallHow = {}): Operation {
    const call = { at: this.now, from: "host-1", type: "Crate", id, method: "append", how, timeoutMs: 5_000 };
    const operation: Operation = {
      token: `default:${name}`,
      call,
      namespace: "default",
      process,
      beganAt: this.now,
      endedAt: undefined,
      outcome: undefined,
    };
    this.checker.asked?.(operation);
    return operation;
  }

  begin(life: Life, { token }: Operation): void {
    this.checker.turnBegan?.({ number: 1, life, op: token, beganAt: this.now });
  }

  fail(operation: Operation, error: unknown): void {
    operation.outcome = { error };
    this.checker.answered?.(operation);
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function clean(scene: Scene): Promise<void> {
  await settled();
  assert.deepEqual(scene.found, []);
}

async function reported(scene: Scene, what: RegExp): Promise<void> {
  await settled();
  assert.equal(scene.found.length, 1, scene.found.join("\n"));
  assert.match(scene.found[0]!, what);
}

describe("one home", () => {
  function lived(secondId: string, change: (scene: Scene, first: Life) => void = () => {}): Scene {
    const scene = new Scene("one home").at(1_000);
    const [one, two] = [scene.process([here]), scene.process()];
    const first = scene.life(one, here);
    scene.checker.activated?.(first);
    scene.at(5_000);
    change(scene, first);
    scene.checker.activated?.(scene.life(two, secondId));
    return scene;
  }

  it("the rule 'one home' accepts actors of other shards elsewhere, and of this one after the first host has released it", async () => {
    await clean(lived(elsewhere));
    await clean(lived(neighbour, (scene, first) => scene.checker.deactivated?.(first, "moved")));
    await clean(lived(neighbour, (_scene, { process }) => Object.assign(process, { hasEnded: true })));
  });

  it("the rule 'one home' accepts that an actor that was cut off left without a report", async () => {
    const scene = new Scene("one home").at(1_000);
    const [one, two] = [scene.process([]), scene.process()];
    scene.checker.activated?.(scene.life(one, here));
    scene.checker.activated?.(scene.life(two, neighbour));
    await clean(scene);
  });

  it("the rule 'one home' reports another actor of the shard elsewhere, when it activates and when it has a turn", async () => {
    await reported(lived(neighbour), /box-\d+ of default\/Crate shard 0 lives at process 2 while .* is at process 1/);
    const scene = new Scene("one home").at(1_000);
    const [one, two] = [scene.process([here]), scene.process([neighbour])];
    const late = scene.life(two, neighbour);
    scene.checker.activated?.(scene.life(one, here));
    scene.begin(late, scene.ask(two, "1", neighbour));
    await reported(scene, /lives at process 2/);
  });

  it("the rule 'one home' excuses a host that slept through the end of its lease", async () => {
    const scene = lived(neighbour, (one, { process }) => {
      one.checker.slept?.(process, 9_000, "pause");
      Object.assign(process, { isAsleep: true });
      one.at(14_000);
    });
    await clean(scene);
    assert.deepEqual(scene.excused, ["one home"]);
  });

  it("the rule 'one home' reports nothing where nothing is sharded", () => {
    assert.deepEqual(new Scene("one home", false).checker, {});
  });
});

describe("homes persisted", () => {
  const home = (incarnation: string): SchedulerMessage => {
    const host = { incarnation, address: "10.0.0.2:7401", name: "host-2" };
    return { kind: "shardHomes", type: "Crate", homes: [{ shard: 1, host }] };
  };
  function led(terms: readonly number[]): { readonly scene: Scene; readonly leaders: readonly Process[] } {
    const scene = new Scene("homes persisted");
    const leaders = terms.map((term) => {
      const process = scene.process();
      scene.checker.campaigned?.(process, {} as never, { leading: true, term } as ElectionResult);
      return process;
    });
    return { scene, leaders };
  }
  const persist = ({ watchers }: Scene, term: number, incarnation: string | undefined, isCurrent = true): void => {
    for (const watcher of watchers) {
      const change = { namespace: "default", type: "Crate", shard: 1, incarnation };
      watcher.notedHomes?.({} as never, term, [change], isCurrent);
    }
  };
  const send = ({ checker }: Scene, leader: Process, message: SchedulerMessage): void =>
    checker.sent?.(leader, 1, { about: "scheduler", message });

  it("the rule 'homes persisted' accepts a stored home, also of the earlier leader, and the absence of one", async () => {
    const { scene, leaders } = led([1]);
    persist(scene, 1, "inc-2");
    send(scene, leaders[0]!, home("inc-2"));
    const next = scene.process();
    scene.checker.campaigned?.(next, {} as never, { leading: true, term: 2 } as ElectionResult);
    send(scene, next, home("inc-2"));
    send(scene, next, { kind: "shardHomes", type: "Crate", homes: [{ shard: 0, host: undefined }] });
    await clean(scene);
  });

  it("the rule 'homes persisted' accepts messages of a leader that does not know of its successor yet", async () => {
    const { scene, leaders } = led([1]);
    persist(scene, 1, "inc-2");
    persist(scene, 2, "inc-3");
    send(scene, leaders[0]!, home("inc-2"));
    await clean(scene);
  });

  it("the rule 'homes persisted' reports a home that is not in the store, or not any more", async () => {
    const never = led([1]);
    send(never.scene, never.leaders[0]!, home("inc-2"));
    await reported(never.scene, /shard 1 is announced to live at .*\(inc-2\), and the store has undefined/);
    const other = led([1]);
    persist(other.scene, 1, "inc-2");
    persist(other.scene, 1, "inc-3");
    send(other.scene, other.leaders[0]!, home("inc-2"));
    await reported(other.scene, /the store has inc-3/);
  });

  it("the rule 'homes persisted' reports a write of an ended term, unless it was rejected", async () => {
    const { scene } = led([1, 2]);
    persist(scene, 1, "inc-2", false);
    await clean(scene);
    persist(scene, 1, "inc-2");
    await reported(scene, /persisted in term 1, and there is term 2/);
  });
});

const CALM = 60_000;

describe("in order", () => {
  function begun(order: readonly string[], now = CALM): Scene {
    const scene = new Scene("in order");
    const [caller, home] = [scene.process(), scene.process()];
    scene.at(now);
    const made = new Map(["1", "2", "3"].map((name) => [name, scene.ask(caller, name)]));
    const life = scene.life(home, here);
    for (const name of order) scene.begin(life, made.get(name)!);
    return scene;
  }

  it("the rule 'in order' accepts calls in the order in which they were made, and one that never begins", async () => {
    await clean(begun(["1", "2", "3"]));
    const scene = new Scene("in order").at(CALM);
    const [caller, home] = [scene.process(), scene.process()];
    const [one, two] = [scene.ask(caller, "1"), scene.ask(caller, "2")];
    scene.fail(one, new LimpetError("CALL_TIMEOUT", "late"));
    scene.begin(scene.life(home, here), two);
    await clean(scene);
  });

  it("the rule 'in order' accepts any order of calls of different hosts, or to different actors", async () => {
    const scene = new Scene("in order").at(CALM);
    const [one, two] = [scene.process(), scene.process()];
    const [a, b, c] = [scene.ask(one, "1"), scene.ask(two, "2"), scene.ask(one, "3", neighbour)];
    const life = scene.life(two, here);
    scene.begin(life, c);
    scene.begin(life, b);
    scene.begin(life, a);
    await clean(scene);
  });

  it("the rule 'in order' reports a call that overtakes another", async () => {
    await reported(begun(["2", "1", "3"]), /default:2 began on Crate\/box-\d+ before default:1/);
  });

  it("the rule 'in order' accepts any order during faults", async () => clean(begun(["2", "1", "3"], 1_000)));

  it("the rule 'in order' reports overtaking at actors without shards as well, unless the actor has moved in between", async () => {
    for (const hasMoved of [false, true]) {
      const scene = new Scene("in order", false);
      const [caller, home] = [scene.process(), scene.process()];
      scene.at(CALM);
      const [one, two] = [scene.ask(caller, "1"), scene.ask(caller, "2")];
      scene.begin(scene.life(home, here), two);
      scene.begin(scene.life(hasMoved ? caller : home, here), one);
      if (hasMoved) await clean(scene);
      else await reported(scene, /default:2 began on Crate\/box-\d+ before default:1/);
    }
  });
});

describe("moves lose nothing", () => {
  const cancelled = new LimpetError("CALL_CANCELLED", "it took too long while its actor moved");
  function failed(error: unknown, how: CallHow = {}, now = CALM, turnMs?: number): Scene {
    const scene = new Scene("moves lose nothing");
    const [caller, home] = [scene.process(), scene.process()];
    scene.at(now);
    const operation = scene.ask(caller, "1", here, how);
    if (turnMs !== undefined) {
      scene.begin(scene.life(home, here), operation);
      scene.at(now + turnMs);
    }
    scene.fail(operation, error);
    return scene;
  }

  it("the rule 'moves lose nothing' accepts the error of the actor, a timeout, and a caller that gave up", async () => {
    await clean(failed(new Error("early"), { throws: "early" }));
    await clean(failed(new LimpetError("CALL_TIMEOUT", "late")));
    await clean(failed(cancelled, { cancelMs: 10 }));
  });

  it("the rule 'moves lose nothing' accepts that a long turn is cut off", async () =>
    clean(failed(cancelled, {}, CALM, 1_200)));

  it("the rule 'moves lose nothing' accepts every error during faults", async () =>
    clean(failed(new LimpetError("UNREACHABLE", "gone"), {}, 1_000)));

  it("the rule 'moves lose nothing' reports a call that was lost, and a turn that was cut off too early", async () => {
    await reported(failed(new LimpetError("ANSWER_LOST", "gone")), /got ANSWER_LOST although everything was well/);
    await reported(failed(new LimpetError("NOT_SETTLED", "astray")), /NOT_SETTLED/);
    await reported(failed(cancelled, {}, CALM, 300), /CALL_CANCELLED/);
  });
});

/** Two hosts and some calls. `pretend` changes the contents of the store after the chaos. */
async function pretending(pretend: (stage: Stage) => void, remember = false): Promise<string> {
  const host = { namespace: "default", types: ["Crate"], dedicated: false, watches: false, clock: {}, startsAt: 0 };
  const hosts = ["host-1", "host-2"].map((name) => ({ ...host, name, machine: name }));
  const calls = ids.slice(0, 8).map((id, i) => {
    return { at: 1_000 + i, from: "host-1", type: "Crate", id, method: "append", how: {}, timeoutMs: 5_000 };
  });
  const plain = { shards: 4, strategy: "least", rebalance: 300, handOff: 1_000, relativeLimit: 1 } as const;
  const rule = remember ? ({ ...plain, remember: true, restartAfter: 300 } as const) : plain;
  const latency = { leastMs: 0.2, moreMs: 0.5 };
  const plan = { seed: 1, hosts, settings: {}, sharded: { Crate: rule }, latency, chaosMs: 3_000, calls, faults: [] };
  const { violations } = await run(plan, pretend);
  return violations.map(({ checker, what }) => `${checker}: ${what}`).join("\n");
}

describe("shards at rest", () => {
  const changing = (change: (rows: { shard: number; incarnation: string }[]) => unknown[]) => (stage: Stage) => {
    const { shards } = stage.world.database.truth;
    const homes = shards.homes.bind(shards);
    shards.homes = async () => (stage.isChaos ? homes() : change(await homes())) as Awaited<ReturnType<typeof homes>>;
  };

  it("shards at rest have a home, and are spread evenly", async () => assert.equal(await pretending(() => {}), ""));

  it("the rule 'shards at rest' reports a shard without a home, or with one that is not present", async () => {
    assert.match(await pretending(changing((rows) => rows.slice(1))), /shards at rest: .* has no home/);
    const strange = changing((rows) => rows.map((row) => ({ ...row, incarnation: "nobody" })));
    assert.match(await pretending(strange), /shards at rest: .* lives at nobody, which is not there/);
  });

  it("the rule 'shards at rest' accepts a row of an ended host until a call requests the shard", async () => {
    const isCalled = ({ operations }: Stage): boolean => operations.some(({ token }) => token.includes(":homeless-"));
    const late = (stage: Stage): void =>
      changing((rows) => (isCalled(stage) ? rows : rows.map((row) => ({ ...row, incarnation: "nobody" }))))(stage);
    assert.equal(await pretending(late), "");
  });

  it("the rule 'shards at rest' reports an uneven distribution", async () => {
    const all = changing((rows) => rows.map((row) => ({ ...row, incarnation: rows[0]!.incarnation })));
    assert.match(await pretending(all), /shards at rest: default\/Crate is out of balance/);
  });

  it("the rule 'shards at rest' reports shards that keep moving", async () => {
    let turn = 0;
    const restless = changing((rows) => {
      const [one, other] = [...new Set(rows.map(({ incarnation }) => incarnation))];
      turn++;
      return rows.map((row) => ({ ...row, incarnation: (row.shard + turn) % 2 === 0 ? one : other }));
    });
    assert.match(await pretending(restless), /shards at rest: shards go on moving/);
  });
});

describe("remembered actors run", () => {
  const remembering = (change: (ids: string[]) => string[]) => (stage: Stage) => {
    const { shards } = stage.world.database.truth;
    const remembered = shards.remembered.bind(shards);
    shards.remembered = async (key, after, limit) => {
      const found = await remembered(key, after, limit);
      return stage.isChaos || key.shard > 0 || after !== undefined || limit < 1_000 ? found : change(found);
    };
  };

  it("remembered actors run after healing", async () => assert.equal(await pretending(() => {}, true), ""));

  it("the rule 'remembered actors run' reports an actor that does not run, and one that is not remembered", async () => {
    const more = remembering((found) => [...found, "ghost"]);
    assert.match(await pretending(more, true), /remembered actors run: Crate\/ghost is remembered .* and does not run/);
    const fewer = remembering(() => []);
    assert.match(await pretending(fewer, true), /remembered actors run: Crate\/box-\d+ .* is not remembered/);
  });
});

describe("homes have the role", () => {
  function roled(): Scene {
    const scene = new Scene("homes have the role", true, { role: "depot" });
    Object.assign(scene.plan.hosts[0]!, { roles: ["depot"] });
    for (const place of [1, 2]) {
      const { app } = scene.process() as unknown as { app: { host: object } };
      Object.assign(app.host, { status: () => ({ ready: true, address: `10.0.0.${place}:7401` }) });
    }
    return scene;
  }
  const sent = (address: string | undefined): SchedulerMessage => {
    const host = address === undefined ? undefined : { incarnation: "inc", address, name: "" };
    return { kind: "shardHomes", type: "Crate", homes: [{ shard: 1, host }] };
  };
  const send = ({ checker, processes }: Scene, message: SchedulerMessage): void =>
    checker.sent?.(processes[0]!, 2, { about: "scheduler", message });

  it("the rule 'homes have the role' accepts actors and shards on hosts with the role, and types without a role", async () => {
    const scene = roled();
    scene.checker.activated?.(scene.life(scene.processes[0]!, here));
    scene.checker.activated?.({ ...scene.life(scene.processes[1]!, here), type: "Ledger" });
    for (const address of ["10.0.0.1:7401", "10.0.0.9:7401", undefined]) send(scene, sent(address));
    await clean(scene);
    assert.deepEqual(new Scene("homes have the role").checker, {});
  });

  it("the rule 'homes have the role' reports an actor, or a shard, on a host without the role", async () => {
    const scene = roled();
    scene.checker.activated?.(scene.life(scene.processes[1]!, here));
    await reported(scene, /lives at host-2, which has not the role depot/);
    const other = roled();
    send(other, sent("10.0.0.2:7401"));
    await reported(other, /shard 1 is announced to live at host-2, which has not its role/);
  });
});

describe("strategy followed", () => {
  const strategy = { way: "spread", thinksMs: 0, restless: false, oddly: 0, odd: [] } as const;
  /** The strategy gets a request at this time, in a calm world, and responds after a delay. */
  function asked(answers: { readonly answer?: string; readonly afterMs?: number } = {}): Scene {
    const scene = new Scene("strategy followed", true, { strategy });
    const process = scene.process();
    scene.process();
    scene.at(100).at(30_000);
    const call: StrategyCall = {
      process,
      namespace: "default",
      type: "Crate",
      shard: 1,
      askedAt: scene.now,
      endedAt: undefined,
      answer: undefined,
    };
    scene.checker.strategyCalled?.(call);
    if (answers.afterMs !== undefined) {
      scene.at(scene.now + answers.afterMs);
      Object.assign(call, { endedAt: scene.now, answer: answers.answer });
      scene.checker.strategyAnswered?.(call);
    }
    return scene;
  }
  function persist(scene: Scene, incarnation: string | undefined, isCurrent = true): Scene {
    const change = { namespace: "default", type: "Crate", shard: 1, incarnation };
    for (const watcher of scene.watchers) watcher.notedHomes?.({} as never, 1, [change], isCurrent);
    return scene;
  }

  it("the rule 'strategy followed' accepts the home that the strategy returned, and any home if it returned none", async () => {
    await clean(persist(asked({ answer: "inc-1", afterMs: 50 }), "inc-1"));
    await clean(persist(asked({ afterMs: 50 }), "inc-2"));
    await clean(persist(asked(), undefined));
    await clean(persist(asked(), "inc-2", false));
  });

  it("the rule 'strategy followed' accepts another decision after the timeout, or during faults", async () => {
    await clean(persist(asked().at(35_100), "inc-2"));
    await clean(persist(asked({ answer: "inc-1", afterMs: 5_100 }), "inc-2"));
    const scene = asked({ answer: "inc-1", afterMs: 50 });
    scene.checker.gone?.({} as never, scene.processes[1]!);
    await clean(persist(scene, "inc-2"));
  });

  it("the rule 'strategy followed' ignores shards of a request that its leader gave up, and reports those of a new one", async () => {
    const late = (askedLaterMs: number): Scene => {
      const scene = asked({ answer: "inc-1", afterMs: 35_000 });
      scene.at(scene.now + askedLaterMs);
      const times = { askedAt: scene.now, endedAt: scene.now };
      const process = scene.processes[0]!;
      scene.checker.strategyCalled?.({
        process,
        namespace: "default",
        type: "Crate",
        shard: 1,
        answer: "inc-1",
        ...times,
      });
      return persist(scene, "inc-2");
    };
    await clean(late(0));
    await reported(late(1_000), /lives at inc-2, and its strategy has answered inc-1/);
  });

  it("the rule 'strategy followed' reports another home, and a home before any response", async () => {
    await reported(
      persist(asked({ answer: "inc-1", afterMs: 50 }), "inc-2"),
      /lives at inc-2, and its strategy has answered inc-1/,
    );
    await reported(persist(asked().at(30_200), "inc-2"), /its strategy has not answered yet/);
  });

  it("the rule 'strategy followed' reports nothing without a custom strategy", () => {
    assert.deepEqual(new Scene("strategy followed").checker, {});
  });
});
