// Tests of the checkers of processes: each must accept a correct sequence of events and report a faulty one.
import { describe, it } from "node:test";
import type { Host } from "../../../src/ports/host-admin.ts";
import { clean, reports, Scene } from "../test-scene.ts";

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

describe("quiet log", () => {
  it("the rule 'quiet log' accepts lines below the level error, and lines of the simulator", async () => {
    const scene = new Scene("quiet log");
    scene.log("host-1", "something");
    scene.log("", "something", {}, "error");
    await clean(scene);
  });

  it("the rule 'quiet log' reports an error of a host", async () => {
    const scene = new Scene("quiet log");
    scene.log("host-1", "turn.rollback-failed", {}, "error");
    await reports(scene, /host-1 +turn.rollback-failed/);
  });
});
