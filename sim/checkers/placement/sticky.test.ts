// Tests of the checkers of sticky actors: each must accept a correct sequence of events and report a faulty
// one.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Host } from "../../../src/ports/host-admin.ts";
import type { Process } from "../../../src/world/process.ts";
import type { Plan, PlannedHost } from "../../plan.ts";
import { run } from "../../run.ts";
import { clean, type FakeProcess, order, reports, Scene, table } from "../test-scene.ts";

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

describe("reported before granted", () => {
  const host = (message: unknown): unknown => ({ about: "host", message });
  const leader = (message: unknown): unknown => ({ about: "scheduler", message });
  const request = { correlation: 7, type: "Ledger", id: "a", since: 0 };
  const member = (n: number) => {
    return { incarnation: `i-${n}`, address: `x-${n}`, types: ["Ledger"], namespace: "default" };
  };

  const named = (...numbers: number[]): unknown => {
    const hosts = numbers.map((n) => ({ address: `x-${n}`, incarnation: `i-${n}`, name: `host-${n}` }));
    return { type: "Ledger", version: { term: 1, number: 1 }, base: undefined, hosts };
  };

  /** Two hosts of the first leader join the second one, which grants an actor to the first of them. */
  function granted(before: (scene: Scene, silent: Process) => void, kind = "granted", members = [3, 4]): Scene {
    const scene = new Scene("reported before granted", stickyPlan(4));
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
        scene.send(one, at.place, host({ kind: "hello", incarnation: `i-${n}`, namespace: "default" }));
        scene.send(at, one.place, leader({ kind: "welcome", term, leaseMs: 10_000 }));
      }
      scene.send(at, asks.place, order({ term, tables: [named(3, 4)] }));
    }
    scene.send(asks, 2, host({ kind: "claimed" }));
    before(scene, silent);
    scene.send(asks, 2, host({ kind: "acquire", requests: [request] }));
    scene.send(second, 3, leader({ kind: "acquired", answers: [{ correlation: 7, kind }] }));
    return scene;
  }

  it("the rule 'reported before granted' accepts a grant after all hosts have reported or ended, and other answers at any time", async () => {
    await clean(granted((scene, silent) => scene.send(silent, 2, host({ kind: "claimed" }))));
    await clean(granted((scene) => scene.log("host-2", "host.removed", { host: "x-4" })));
    await clean(granted(() => {}, "owner"));
    await clean(granted(() => {}, "refused"));
  });

  it("the rule 'reported before granted' needs no report of hosts of other types or namespaces, of new ones, and of the leader itself", async () => {
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
      scene.send(silent, 2, host({ kind: "hello", incarnation: "i-5", namespace: "default" }));
      const second = scene.processes[1] as unknown as Process;
      scene.send(second, 4, leader({ kind: "welcome", term: 2, leaseMs: 10_000 }));
      scene.send(second, 4, order({ term: 2, tables: [named(3, 4, 5)] }));
    });
    await clean(isNew);
  });

  it("the rule 'reported before granted' reports a grant while a host has not reported to this leader, or another leader removed it", async () => {
    const silently = /default\/Ledger\/a is granted, and x-4 \(i-4\) has not reported its actors/;
    await reports(
      granted(() => {}),
      silently,
    );
    await reports(
      granted((scene, silent) => scene.send(silent, 1, host({ kind: "claimed" }))),
      silently,
    );
    await reports(
      granted((scene) => scene.log("host-1", "host.removed", { host: "x-4" })),
      silently,
    );
  });

  it("the rule 'reported before granted' reports a grant after an incomplete report", async () => {
    const part = { kind: "claims", part: 1, type: "Ledger", ids: ["b"], since: [0] };
    await reports(
      granted((scene, silent) => scene.send(silent, 2, host(part))),
      /x-4 \(i-4\) has not reported/,
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
    host = ready(),
    plan = stickyPlan(1),
  ): Scene {
    const scene = new Scene("sticky actors stay", plan);
    const one = scene.process(host);
    scene.send(one, 2, order({ tables: [table(1, "x", "y")] }));
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
      await clean(left("moved", (scene) => scene.log("host-1", why)));
      await reports(
        left("moved", (scene) => scene.log("host-2", why)),
        /which has its type/,
      );
    }
    await clean(left("moved", (scene, one) => scene.send(one, 2, order({ tables: [table(2, "y")] }))));
    const late = (change: string) =>
      left("moved", (scene) => scene.log("host-1", "⚡ late messages of a host", { change }));
    await clean(late("types"));
    await reports(late("stream"), /which has its type/);
    const [host] = stickyPlan(1).hosts!;
    await clean(left("moved", () => {}, ready(), stickyPlan(1, { hosts: [{ ...host!, types: [] }] })));
  });

  it("the rule 'sticky actors stay' reports an actor that leaves because it is idle", async () =>
    reports(left("idle"), /Ledger\/a has to leave process 1 because nobody calls it/));

  it("the rule 'sticky actors stay' reports an actor that leaves because of a new table that lists its host", async () => {
    await reports(left("moved"), /Ledger\/a has to leave process 1, which has its type/);
    const joined = left("moved", (scene, one) => scene.send(one, 2, order({ tables: [table(2, "x", "y", "z")] })));
    await reports(joined, /which has its type/);
  });

  it("the rule 'sticky actors stay' does not excuse events of long ago", async () => {
    const asked = left("moved", (scene) => {
      scene.log("host-1", "sticky.release-requested");
      scene.at(60_000);
    });
    await reports(asked, /which has its type/);
    const unlisted = left("moved", (scene, one) => {
      scene.send(one, 2, order({ tables: [table(2, "y")] }));
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
      const logged = ({ event }: { readonly event: string }): void => {
        if (event !== "everything is healed") return;
        for (const { host } of stage.players) {
          const running = host.app.host;
          const { sticky } = running;
          running.sticky = async (query) =>
            isHidden(query.here === true) ? { actors: [], next: undefined } : sticky.call(running, query);
        }
      };
      stage.observers.push({ logged });
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
