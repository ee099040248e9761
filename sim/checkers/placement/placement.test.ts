// Tests of the checkers of placement: each must accept a correct sequence of events and report a faulty one.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../../../src/kernel/errors.ts";
import type { Host } from "../../../src/ports/host-admin.ts";
import type { Process } from "../../../src/world/process.ts";
import type { Life } from "../../observer.ts";
import type { Plan } from "../../plan.ts";
import { candidate, clean, type FakeProcess, order, reports, Scene, standing, table } from "../test-scene.ts";

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
    scene.send(one, 2, order({ tables: [table(1, "x")] }));
    scene.send(one, 3, order({ tables: [table(1, "x")] }));
    await clean(scene);
  });

  it("the rule 'routing agreement' reports hosts that disagree, a turn of another host's actor, and a version with two contents", async () => {
    const scene = new Scene("routing agreement", twoHosts());
    scene.process(knowing("x", true));
    const two = scene.process(knowing("y", false));
    scene.at(0).checker.turnBegan?.(scene.turn(scene.life(two, 1), "default:1"));
    await reports(scene, /belongs to x for process 1, to y for process 2/);
    await reports(scene, /begins default:1 at process 2, and it belongs to y/);
    scene.send(two, 1, order({ tables: [table(1, "x")] }));
    scene.send(two, 1, order({ tables: [table(1, "y")] }));
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
      twoVersions(2, 1, (each) => each.log("host-1", "membership.removed")),
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
    scene.send(one, 2, order({ tables: [table(1, "x")] }));
    scene.checker.activated?.(life);
    await scene.reports();
    scene.send(one, 2, order({ tables: [table(2, second)] }));
    scene.send(one, 2, order({ tables: [table(3, "x")] }));
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
    scene.send(one, 2, hello("a"));
    scene.log("host-1", "lease.lost");
    scene.send(one, 2, hello("b"));
    await clean(scene);
    scene.send(one, 2, hello("c"));
    await reports(scene, /host-1 gave up all its actors/);
  });

  it("the rule 'unmoved ids never blocked' reports NOT_SETTLED for an actor that stayed", async () => {
    const scene = new Scene("unmoved ids never blocked");
    const one = scene.process(at(() => 1));
    scene.checker.activated?.(scene.life(one, 1));
    const operation = scene.at(5).ask(scene.process(), "1");
    scene.answer(operation, { error: new LimpetError("NOT_SETTLED", "x") });
    await reports(scene, /got NOT_SETTLED, and Ledger\/a was at process 1 all along/);
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
    scene.log("host-1", "leader.elected", { term: 1 });
    scene.log("host-1", "leader.stepped-down", { term: 1 });
    scene.log("host-2", "leader.elected", { term: 2 });
    scene.log("host-2", "leader.stepped-down", { term: 2 });
    scene.log("host-2", "leader.elected", { term: 3 });
    for (const watcher of scene.world.database.watchers) watcher.asks?.(scene.processes[1] as never, "resign");
    scene.log("host-1", "leader.elected", { term: 4 });
    scene.checker.slept?.(one, 60_000, "pause");
    (one as unknown as FakeProcess).isAsleep = true;
    scene.at(5_000).log("host-2", "leader.elected", { term: 5 });
    await clean(scene);
    assert.deepEqual(scene.excused, ["leadership"]);
  });

  it("the rule 'leadership' reports two leaders, a repeated term, and orders of an ended term", async () => {
    const scene = new Scene("leadership", two);
    const one = scene.process(believing(true));
    scene.process(believing(true));
    scene.log("host-1", "leader.elected", { term: 1 });
    scene.log("host-2", "leader.elected", { term: 2 });
    await reports(scene, /host-2 leads in term 2 while host-1 considers itself the leader of term 1/);
    scene.log("host-2", "leader.elected", { term: 2 });
    await reports(scene, /begins to lead in term 2, and there was term 2/);
    scene.send(one, 2, order({ term: 1 }));
    await reports(scene, /process 1 sends in term 1 when term 2 had begun/);
  });
});

describe("persisted before granted", () => {
  function granted(types: string[]): Scene {
    const scene = new Scene("persisted before granted");
    const [one, two] = [scene.process(), scene.process()];
    scene.members = [{ incarnation: "i-x", address: "x", types }];
    scene.send(two, 1, { about: "host", message: { kind: "hello", incarnation: "i-x" } });
    scene.send(one, 2, order({ tables: [table(1, "x")] }));
    return scene;
  }

  it("the rule 'persisted before granted' accepts a host that is in the store", async () => clean(granted(["Ledger"])));

  it("the rule 'persisted before granted' reports a host that is not in the store, or not with this type", async () =>
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
    scene.send(leader, 2, { about: "scheduler", message: { kind: "welcome", term: 1, leaseMs: 10_000 } });
    scene.send(process, 1, { about: "host", message: { kind: "renew", sequence: 1, actors: 0 } });
    scene.at(1_000).send(leader, 2, { about: "scheduler", message: { kind: "renewed", sequence: 1 } });
    return { scene, leader, life: scene.life(process, 1) };
  }

  it("the rule 'leases honoured' accepts turns and orders during a lease", async () => {
    const { scene, leader, life } = renewed();
    scene.at(2_000).send(leader, 2, order({}));
    scene.at(6_900).checker.turnBegan?.(scene.turn(life, "default:1"));
    await clean(scene);
  });

  it("the rule 'leases honoured' reports a turn and an order after the lease, also without a competitor", async () => {
    const { scene, leader, life } = renewed();
    scene.at(8_000).checker.turnBegan?.(scene.turn(life, "default:1"));
    await reports(scene, /begins default:1 at process 2, 8000 ms after its last renewal/);
    scene.send(leader, 2, order({}));
    await reports(scene, /process 1 sends order 8000 ms after the store let it lead/);
  });

  it("the rule 'leases honoured' accepts turns of a host that leads when the earlier leader answers late", async () => {
    const { scene, leader, life } = renewed();
    scene.at(2_000).send(life.process, 1, { about: "host", message: { kind: "renew", sequence: 2, actors: 0 } });
    scene.at(2_500).log("host-2", "leader.elected", { term: 2 });
    scene.at(2_540).send(leader, 2, { about: "scheduler", message: { kind: "renewed", sequence: 2 } });
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
    scene.at(8_000).log("host-1", "host.evicted", { name: "host-2" });
    return scene;
  }

  it("the rule 'no needless eviction' accepts the eviction of a host that slept, or has just come back", async () => {
    await clean(evicted((scene, process) => scene.checker.slept?.(process, 1_000, "pause")));
    await clean(evicted((scene, process) => scene.send(process, 1, { about: "host", message: { kind: "hello" } })));
    await clean(evicted((scene) => scene.log("", "⚡ something", { ms: 100 })));
  });

  it("the rule 'no needless eviction' reports the eviction of a host without a fault", async () => {
    await reports(
      evicted(() => {}),
      /host-2 was evicted, and had been well for 8000 ms/,
    );
  });
});
