// The database crashes under load and comes back, twice. Callers wait, or are told that nothing happened, or that they
// cannot know; nothing acknowledged is lost, nothing is applied twice, and no process has to be started again.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { HostProcess } from "./support/host-process.ts";
import { Ledger } from "./support/ledger.ts";
import { Middleman } from "./support/middleman.ts";
import { startPostgres, type TestServer } from "./support/postgres.ts";
import { type Dice, dice } from "./support/seed.ts";
import { type Place, tempPlace } from "./support/two-stores.ts";

const ACTORS = 50;
const LANES = 40;
const SOME = 500;

describe("when PostgreSQL crashes under load and comes back", { timeout: 120_000 }, () => {
  let server: TestServer;
  let place: Place;
  before(async () => {
    place = await tempPlace();
    server = await startPostgres();
  });
  after(async () => {
    await server?.dispose();
    await place?.[Symbol.asyncDispose]();
  });

  for (const hosts of [1, 2]) {
    const who = hosts === 1 ? "one process" : "two processes that share their actors";
    test(`${who}: no increment is lost or applied twice, every call is answered, and work goes on`, async (t) => {
      await using stack = new AsyncDisposableStack();
      const options = { folder: place.folder, store: await server.createDatabase(), storeTimeout: "1s" };
      const load = new Load(dice(t));
      const running: HostProcess[] = [];
      for (let i = 0; i < hosts; i++) running.push(stack.use(await HostProcess.start(options)));
      for (const host of running) load.start(host);

      await load.until(() => load.ledger.acked >= SOME, "the load runs");
      for (let outage = 1; outage <= 2; outage++) {
        await server.stop("immediate");
        // The second one lasts until everybody who asks has had an answer, although there is nobody to give it.
        const asked = running.map((host) => host.newestCall);
        const answered = () => running.every((host, i) => host.oldestCall > asked[i]!);
        if (outage === 2) await load.until(answered, "every call is answered while the database is away");
        await server.start();
        const goal = load.ledger.acked + SOME;
        await load.until(() => load.ledger.acked >= goal, "work goes on after the outage");
      }
      await load.stop();

      const { ledger } = load;
      t.diagnostic(
        `${ledger.acked} acknowledged, ${ledger.unknown} unknown, told ${JSON.stringify([...ledger.errors])}`,
      );
      assert.ok(ledger.told("STORE_UNAVAILABLE") + ledger.told("COMMIT_UNKNOWN") > 0, "nobody noticed the outage");
      const expected = new Set(["STORE_UNAVAILABLE", "COMMIT_UNKNOWN", ...(hosts > 1 ? ["FENCED"] : [])]);
      assert.deepEqual(new Set(ledger.errors.keys()).difference(expected), new Set());
      await using reader = await HostProcess.start(options);
      await ledger.audit(reader);
    });
  }

  test("a commit whose answer was lost is not called undone, although another process went on from it", async () => {
    const url = new URL(await server.createDatabase());
    const { folder } = place;
    await using two = await HostProcess.start({ folder, store: url.href });
    await using middleman = await Middleman.before(server.port);
    url.port = `${middleman.port}`;
    await using one = await HostProcess.start({ folder, store: url.href });
    const ledger = new Ledger();
    assert.equal(await ledger.add(one, "a"), "acked");

    middleman.losesAnswers = true;
    const doubtful = ledger.add(one, "a");
    await until(async () => (await two.version("a")) === 2, "the commit arrives");
    assert.equal(await ledger.add(two, "a"), "acked");
    middleman.losesAnswers = false;
    await doubtful;

    await using reader = await HostProcess.start({ folder, store: url.href });
    await ledger.audit(reader);
  });
});

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let attempt = 0; attempt < 6_000; attempt++) {
    if (await condition()) return;
    await pause(10);
  }
  assert.fail(`never happened: ${what}`);
}

/** Callers that never stop asking. */
class Load {
  readonly ledger = new Ledger();
  readonly #chance: Dice;
  readonly #lanes: Promise<void>[] = [];
  #stopping = false;

  constructor(chance: Dice) {
    this.#chance = chance;
  }

  start(host: HostProcess): void {
    for (let i = 0; i < LANES; i++) this.#lanes.push(this.#lane(host));
  }

  async #lane(host: HostProcess): Promise<void> {
    while (!this.#stopping) await this.ledger.add(host, `actor ${this.#chance.below(ACTORS)}`);
  }

  /** A lane that fails ends the waiting. */
  async until(condition: () => boolean, what: string): Promise<void> {
    await Promise.race([until(condition, what), ...this.#lanes]);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#lanes);
  }
}
