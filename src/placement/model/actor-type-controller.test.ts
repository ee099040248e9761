// One type on the leader: the begin of a round, the members it waits for, and its base.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TableVersion } from "../../kernel/versions.ts";
import type { ChangeReason, Operation, TableHost } from "../../ports/control-messages.ts";
import { ActorTypeController, type TypeRequest } from "./actor-type-controller.ts";

const COALESCE_MS = 100;
const ROUND_MS = 8_000;

const hostOf = (incarnation: string): TableHost => ({ incarnation, address: `${incarnation}:1`, name: "" });
const mapOf = (hosts: string): Map<string, TableHost> =>
  new Map([...hosts].map((incarnation) => [incarnation, hostOf(incarnation)]));

/** A step as one line of text. */
function show(request: TypeRequest): string {
  switch (request.kind) {
    case "begin": {
      const { version, base, hosts } = request.table;
      return `begin ${version.number} on ${base?.number ?? "nothing"}: ${hosts.map(({ incarnation }) => incarnation).join("")}`;
    }
    case "unlock":
      return `unlock ${request.round}`;
    case "settled":
      return `settled after ${request.tookMs}`;
    case "late":
      return `late ${request.incarnations.join("")}`;
    case "again":
      return `again ${request.incarnations.join("")}`;
  }
}

/** Hosts are named by single letters; rounds are numbered from 1. */
class Stage {
  readonly type = new ActorTypeController("cart", 7, { coalesceMs: COALESCE_MS, roundTimeoutMs: ROUND_MS });
  now = 1_000;
  #round = 0;

  open(holders = "", base?: TableVersion, lastNumber = 0): this {
    this.type.open(new Set(holders), base, lastNumber, this.now);
    return this;
  }

  want(hosts: string, reason: ChangeReason = "join"): string[] {
    this.type.want(mapOf(hosts), reason, this.now);
    return this.begin();
  }

  begin(): string[] {
    const requests = this.type.begin(this.#round + 1, this.now).map(show);
    if (requests.length > 0) this.#round++;
    return requests;
  }

  wait(ms = COALESCE_MS): string[] {
    this.now += ms;
    return this.begin();
  }

  ack(who: string, operation: Operation, round = this.#round): string[] {
    return [...who].flatMap((incarnation) => this.type.acked(incarnation, operation, round, this.now).map(show));
  }

  gone(incarnation: string): string[] {
    return this.type.gone(incarnation, this.now).map(show);
  }

  tick(): string[] {
    return this.type.tick(this.now).map(show);
  }

  /** From nothing to a finished table. */
  settle(hosts: string): this {
    this.open();
    this.want(hosts);
    this.ack(hosts, "update");
    this.ack(hosts, "unlock");
    assert.equal(this.type.phase, "settled");
    return this;
  }

  get finished(): number | undefined {
    return this.type.finished?.version.number;
  }

  get waits(): string {
    return [...this.type.waitsFor].sort().join("");
  }
}

describe("a closed type", () => {
  it("a closed type begins no round, regardless of the wanted hosts", () => {
    const stage = new Stage();
    assert.equal(stage.type.phase, "closed");
    assert.deepEqual(stage.want("ab"), []);
    assert.deepEqual(stage.wait(), []);
    assert.equal(stage.type.deadline, Number.POSITIVE_INFINITY);
    assert.deepEqual(stage.tick(), []);
    assert.equal(stage.type.table, undefined);
    assert.equal(stage.type.catchUp(), undefined);
  });

  it("a type begins a round at once when it is opened, with the hosts wanted by then", () => {
    const stage = new Stage();
    stage.want("ab");
    assert.deepEqual(stage.open().begin(), ["begin 1 on nothing: ab"]);
  });

  it("a round whose members are all new is over at once, and one with a host that has tables is not", () => {
    const begin = (hosts: string, fresh: string): string[] => {
      const type = new ActorTypeController("cart", 7, { coalesceMs: COALESCE_MS, roundTimeoutMs: ROUND_MS });
      type.open(new Set(), undefined, 0, 1_000);
      type.want(mapOf(hosts), "join", 1_000);
      return type.begin(1, 1_000, (incarnation) => fresh.includes(incarnation)).map(show);
    };
    assert.deepEqual(begin("ab", "ab"), ["begin 1 on nothing: ab", "unlock 1", "settled after 0"]);
    assert.deepEqual(begin("ab", "a"), ["begin 1 on nothing: ab"]);
  });

  it("a type is opened only once", () => {
    const stage = new Stage().open();
    assert.throws(() => stage.open(), /opened once/);
  });

  it("a type waits after a takeover for every host that may hold actors, wanted or not", () => {
    const stage = new Stage();
    stage.want("bc");
    stage.open("ab", { term: 6, number: 4 }, 4);
    assert.deepEqual(stage.begin(), ["begin 5 on 4: bc"]);
    assert.equal(stage.waits, "abc");
    assert.deepEqual(stage.type.table?.version, { term: 7, number: 5 });
    assert.deepEqual(stage.type.table?.base, { term: 6, number: 4 });
  });

  it("a type continues the numbers of the previous leader even without an agreed base", () => {
    const stage = new Stage();
    stage.want("a");
    assert.deepEqual(stage.open("ab", undefined, 9).begin(), ["begin 10 on nothing: a"]);
  });

  it("a type sends a table after a takeover even without hosts, because an earlier leader may have sent one with hosts", () => {
    const stage = new Stage();
    assert.deepEqual(stage.open().begin(), ["begin 1 on nothing: ", "unlock 1", "settled after 0"]);
    assert.equal(stage.type.phase, "settled");
  });
});

describe("a round", () => {
  it("a round goes from update to unlock to its end, each with the last acknowledgement", () => {
    const stage = new Stage().open();
    stage.want("ab");
    assert.equal(stage.type.phase, "updating");
    assert.equal(stage.waits, "ab");
    assert.deepEqual(stage.ack("a", "update"), []);
    assert.equal(stage.waits, "b");
    assert.deepEqual(stage.ack("b", "update"), ["unlock 1"]);
    assert.equal(stage.type.phase, "unlocking");
    assert.equal(stage.finished, undefined);
    assert.equal(stage.waits, "ab");
    stage.now += 30;
    assert.deepEqual(stage.ack("b", "unlock"), []);
    assert.deepEqual(stage.ack("a", "unlock"), ["settled after 30"]);
    assert.equal(stage.type.phase, "settled");
    assert.equal(stage.waits, "");
    assert.equal(stage.finished, 1);
  });

  it("a finished round is the base of the next one", () => {
    const stage = new Stage().settle("ab");
    stage.want("abc");
    assert.deepEqual(stage.wait(), ["begin 2 on 1: abc"]);
  });

  it("a round begins when the coalescing window of the first change has passed", () => {
    const stage = new Stage().settle("a");
    assert.deepEqual(stage.want("ab"), []);
    assert.equal(stage.type.deadline, stage.now + COALESCE_MS);
    assert.deepEqual(stage.wait(60), []);
    assert.deepEqual(stage.want("abc"), []);
    assert.deepEqual(stage.wait(39), []);
    assert.deepEqual(stage.wait(1), ["begin 2 on 1: abc"]);
    assert.equal(stage.type.deadline, stage.now + ROUND_MS / 2);
  });

  it("a round does not begin when a change is taken back in time", () => {
    const stage = new Stage().settle("ab");
    stage.want("a");
    stage.want("ab");
    assert.deepEqual(stage.wait(), []);
    assert.equal(stage.type.deadline, Number.POSITIVE_INFINITY);
  });

  it("a table lists its hosts in order of address", () => {
    const stage = new Stage().open();
    assert.deepEqual(stage.want("cab"), ["begin 1 on nothing: abc"]);
  });

  it("a round has the reason of the last change", () => {
    const stage = new Stage().settle("a");
    stage.want("ab", "join");
    stage.want("b", "lost");
    stage.now += COALESCE_MS;
    const [request] = stage.type.begin(2, stage.now);
    assert.equal(request?.kind === "begin" && request.reason, "lost");
  });

  it("a round waits for hosts that leave as well as for hosts that come", () => {
    const stage = new Stage().settle("ab");
    stage.want("bc");
    stage.wait();
    assert.equal(stage.waits, "abc");
    assert.deepEqual(stage.ack("bc", "update"), []);
    assert.deepEqual(stage.ack("a", "update"), ["unlock 2"]);
    assert.equal(stage.waits, "abc");
  });

  it("a round does not wait for hosts that hosted the type long ago", () => {
    const stage = new Stage().settle("ab");
    stage.want("b");
    stage.wait();
    stage.ack("ab", "update");
    stage.ack("ab", "unlock");
    stage.want("bc");
    stage.wait();
    assert.equal(stage.waits, "bc");
  });
});

describe("changes during a round", () => {
  it("changes during a round become one round when it is over", () => {
    const stage = new Stage().open();
    stage.want("a");
    assert.deepEqual(stage.want("ab"), []);
    assert.deepEqual(stage.want("abc"), []);
    assert.deepEqual(stage.want("bc"), []);
    stage.now += COALESCE_MS;
    stage.ack("a", "update");
    assert.deepEqual(stage.begin(), []);
    stage.ack("a", "unlock");
    assert.deepEqual(stage.begin(), ["begin 2 on 1: bc"]);
    assert.equal(stage.waits, "abc");
  });

  it("changes during a round become none when the table is right in the end", () => {
    const stage = new Stage().open();
    stage.want("ab");
    stage.want("a");
    stage.want("ab");
    stage.ack("ab", "update");
    stage.ack("ab", "unlock");
    assert.deepEqual(stage.wait(), []);
  });

  it("changes during a round still wait for the window after it", () => {
    const stage = new Stage().open();
    stage.want("a");
    stage.want("ab");
    stage.ack("a", "update");
    stage.ack("a", "unlock");
    assert.deepEqual(stage.begin(), []);
    assert.equal(stage.type.deadline, stage.now + COALESCE_MS);
    assert.deepEqual(stage.wait(), ["begin 2 on 1: ab"]);
  });
});

describe("an acknowledgement", () => {
  for (const [what, who, operation, round] of [
    ["of an earlier round", "a", "update", 0],
    ["of a round that never was", "a", "update", 99],
    ["of the operation to come", "a", "unlock", 1],
    ["of a lock", "a", "lock", 1],
    ["from a stranger", "x", "update", 1],
  ] as const) {
    it(`an acknowledgement ${what} is ignored`, () => {
      const stage = new Stage().open();
      stage.want("a");
      assert.deepEqual(stage.ack(who, operation, round), []);
      assert.equal(stage.type.phase, "updating");
      assert.equal(stage.waits, "a");
    });
  }

  it("an acknowledgement given twice counts once", () => {
    const stage = new Stage().open();
    stage.want("ab");
    assert.deepEqual(stage.ack("aa", "update"), []);
    assert.equal(stage.type.phase, "updating");
  });

  it("an acknowledgement of the update does not count for the unlock", () => {
    const stage = new Stage().open();
    stage.want("ab");
    stage.ack("ab", "update");
    assert.deepEqual(stage.ack("ab", "update"), []);
    assert.equal(stage.waits, "ab");
  });

  it("an acknowledgement without a round is ignored", () => {
    const stage = new Stage().settle("a");
    assert.deepEqual(stage.ack("a", "unlock"), []);
    assert.deepEqual(stage.ack("a", "update"), []);
    assert.equal(stage.type.phase, "settled");
  });
});

describe("a host that is gone", () => {
  it("a round does not wait for a host that is gone, in either half", () => {
    const stage = new Stage().open();
    stage.want("abc");
    stage.ack("a", "update");
    assert.deepEqual(stage.gone("b"), []);
    assert.deepEqual(stage.gone("c"), ["unlock 1"]);
    assert.equal(stage.waits, "a");
    assert.deepEqual(stage.gone("a"), ["settled after 0"]);
  });

  it("a round is over when its last member is gone", () => {
    const stage = new Stage().open();
    stage.want("a");
    assert.deepEqual(stage.gone("a"), ["unlock 1", "settled after 0"]);
  });

  it("a host that is gone is no member of the next round", () => {
    const stage = new Stage().settle("ab");
    stage.gone("a");
    stage.want("b", "lost");
    stage.wait();
    assert.equal(stage.waits, "b");
  });

  it("a host that is gone during a round leads to another round without it", () => {
    const stage = new Stage().open();
    stage.want("ab");
    stage.gone("b");
    stage.want("a", "lost");
    stage.now += COALESCE_MS;
    stage.ack("a", "update");
    stage.ack("a", "unlock");
    assert.deepEqual(stage.begin(), ["begin 2 on 1: a"]);
    assert.equal(stage.waits, "a");
  });

  it("the end of a host that was not there changes nothing", () => {
    const stage = new Stage().open();
    stage.want("a");
    assert.deepEqual(stage.gone("x"), []);
    assert.equal(stage.waits, "a");
  });
});

describe("a round that waits for too long", () => {
  it("a late round names the members it waits for, once", () => {
    const stage = new Stage().open();
    stage.want("abc");
    stage.ack("b", "update");
    stage.now += ROUND_MS - 1;
    stage.tick();
    assert.deepEqual(stage.tick(), []);
    stage.now += 1;
    assert.equal(stage.type.deadline, stage.now);
    assert.deepEqual(stage.tick(), ["late ac"]);
    assert.equal(stage.type.deadline, Number.POSITIVE_INFINITY);
    assert.deepEqual(stage.tick(), []);
    assert.equal(stage.type.phase, "updating");
  });

  it("a round gives as much time for the unlock as for the update", () => {
    const stage = new Stage().open();
    stage.want("a");
    stage.now += ROUND_MS - 1;
    stage.ack("a", "update");
    assert.equal(stage.type.deadline, stage.now + ROUND_MS / 2);
    stage.now += ROUND_MS;
    assert.deepEqual(stage.tick(), ["late a"]);
  });

  it("a host that does not acknowledge is sent the order again, once in each half of a round, before it is late", () => {
    const stage = new Stage().open();
    stage.want("ab");
    stage.ack("b", "update");
    stage.now += ROUND_MS / 2 - 1;
    assert.deepEqual(stage.tick(), []);
    stage.now += 1;
    assert.equal(stage.type.deadline, stage.now);
    assert.deepEqual(stage.tick(), ["again a"]);
    assert.deepEqual(stage.tick(), []);
    assert.equal(stage.type.deadline, stage.now + ROUND_MS / 2);
    stage.ack("a", "update");
    stage.ack("a", "unlock");
    stage.now += ROUND_MS / 2;
    assert.deepEqual(stage.tick(), ["again b"]);
    stage.now += ROUND_MS / 2;
    assert.deepEqual(stage.tick(), ["late b"]);
  });

  it("a round goes on with an acknowledgement that comes late", () => {
    const stage = new Stage().open();
    stage.want("a");
    stage.now += ROUND_MS;
    stage.tick();
    assert.deepEqual(stage.ack("a", "update"), ["unlock 1"]);
  });
});

describe("a host that returns during a round", () => {
  it("a host that returns during a round gets its table, and whether it is unlocked", () => {
    const stage = new Stage().open();
    stage.want("ab");
    const table = stage.type.table!;
    assert.deepEqual(stage.type.catchUp(), { round: 1, table, unlocked: false });
    stage.ack("ab", "update");
    assert.deepEqual(stage.type.catchUp(), { round: 1, table, unlocked: true });
    stage.ack("ab", "unlock");
    assert.equal(stage.type.catchUp(), undefined);
    assert.equal(stage.type.finished, table);
  });
});

describe("the possible holders of a type", () => {
  it("hosts before and after a round may hold actors while it lasts, and only the hosts after it when it is over", () => {
    const stage = new Stage().settle("ab");
    const holders = (): string => [..."abcx"].filter((host) => stage.type.mayHold(host)).join("");
    assert.equal(holders(), "ab");
    stage.want("bc");
    assert.equal(holders(), "abc");
    stage.wait();
    stage.ack("abc", "update");
    assert.equal(holders(), "abc");
    stage.ack("abc", "unlock");
    assert.equal(holders(), "bc");
    stage.gone("c");
    stage.want("b", "lost");
    assert.equal(holders(), "b");
  });
});

describe("a broken precondition", () => {
  it("a type that is open cannot be opened again", () => {
    const stage = new Stage().open();
    stage.want("ab");
    assert.throws(() => stage.open(), {
      code: "INVARIANT",
      message:
        /a type is opened once; type cart: updating of round 1, table 1 of term 7 of \[a,b\], .*waits for \[a,b\]/,
    });
  });

  it("a round cannot have the number of an earlier one", () => {
    const stage = new Stage().open();
    stage.want("a");
    stage.ack("a", "update");
    stage.ack("a", "unlock");
    stage.type.want(mapOf("ab"), "join", stage.now);
    const begin = (): unknown => stage.type.begin(1, stage.now + COALESCE_MS);
    assert.throws(begin, {
      code: "INVARIANT",
      message: /a higher number than the rounds before it; type cart: settled/,
    });
  });
});
