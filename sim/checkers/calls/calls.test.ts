// Tests of the checkers of calls and turns: each must accept a correct sequence of events and report a faulty
// one.
import { describe, it } from "node:test";
import { LimpetError } from "../../../src/kernel/errors.ts";
import type { Host } from "../../../src/ports/host-admin.ts";
import type { Process } from "../../../src/world/process.ts";
import type { Life, Operation } from "../../observer.ts";
import type { CallHow } from "../../plan.ts";
import { clean, type FakeProcess, reports, Scene } from "../test-scene.ts";

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
    await reports(judged(history(["default:1"], [{ value: 2 }])), /got the answer that its place is 2, and it is 1/);
    const swapped = history(["default:2", "default:1"], [{ value: 2 }, { value: 1 }]);
    await reports(judged(swapped), /default:1 had ended before default:2 began, and stands behind it/);
    const refused = { error: new LimpetError("FENCED", "x") };
    await reports(judged(history(["default:1"], [refused])), /is there, and its caller got/);
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

describe("honest errors", () => {
  const failed = (error: unknown, how: CallHow = {}): Scene => {
    const scene = new Scene("honest errors");
    scene.answer(scene.ask(scene.process(), "1", "append", how), { error });
    return scene;
  };

  it("the rule 'honest errors' accepts faults, the error of the actor, and a real cycle", async () => {
    await clean(failed(new LimpetError("CALL_TIMEOUT", "x")));
    await clean(failed(new Error("late"), { throws: "late" }));
    await clean(failed(new LimpetError("CALL_CYCLE", "x"), { via: [{ type: "Ledger", id: "a" }] }));
  });

  it("the rule 'honest errors' reports every other error", async () => {
    await reports(failed(new LimpetError("INVARIANT", "x")), /is not what can happen to such a call/);
    await reports(failed(new TypeError("x")), /is neither of the catalogue nor what the actor threw/);
    await reports(failed(new Error("late")), /is neither of the catalogue nor what the actor threw/);
    await reports(failed(new LimpetError("CALL_CYCLE", "x")), /names a cycle that is none/);
    await reports(failed("x"), /is no error/);
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
    await clean(waited((scene) => scene.log("", "⚡ something", { ms: 100 })));
    await clean(waited((scene, life) => scene.checker.slept?.(life.process, 1, "pause")));
  });

  it("the rule 'not in vain' reports a call that waited without a reason", async () => {
    await reports(
      waited(() => {}),
      /default:1 on Ledger\/a never began, and everything was well/,
    );
  });
});
