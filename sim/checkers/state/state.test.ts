// Tests of the checkers of stored state: each must accept a correct sequence of events and report a faulty
// one.
import { describe, it } from "node:test";
import type { Plan } from "../../plan.ts";
import { candidate, clean, KEY, order, reports, Scene, standing } from "../test-scene.ts";

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
    scene.send(one, 2, order({}));
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
    scene.send(two, 1, order({ term: 2 }));
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
    scene.send(one, 1, { kind: "call", call: KEY });
    scene.send(one, 1, order({}));
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
    scene.send(one, 1, { kind: "call", call: { ...KEY, namespace: "other" } });
    await reports(scene, /process 1 of default calls Ledger\/a of other/);
    scene.send(one, 2, order({ namespace: "default" }));
    await reports(scene, /a host of other gets tables of default/);
    scene.listed = [{ type: "Ledger", id: "b" }];
    scene.checker.healed?.();
    await reports(scene, /default lists default\/Ledger\/b, and has default\/Ledger\/a/);
  });
});
