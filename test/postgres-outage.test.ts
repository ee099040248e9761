// The database crashes under load and comes back, twice. Callers wait, or get a definite failure, or an
// unknown outcome. Nothing acknowledged is lost, nothing is applied twice, and no process has to restart.
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
/** The name of the statement that commits small states. */
const COMMIT = "limpet_commit_small";
/** A busy machine takes long for everything. */
const PATIENCE_MS = 120_000;

describe("when PostgreSQL crashes under load and comes back", { timeout: 600_000 }, () => {
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
        // The second outage lasts until every caller has had an answer, although the database gives none.
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
      assert.ok(ledger.count("STORE_UNAVAILABLE") + ledger.count("COMMIT_UNKNOWN") > 0, "nobody noticed the outage");
      const expected = new Set(["STORE_UNAVAILABLE", "COMMIT_UNKNOWN", ...(hosts > 1 ? ["FENCED"] : [])]);
      assert.deepEqual(new Set(ledger.errors.keys()).difference(expected), new Set());
      await using reader = await HostProcess.start(options);
      await ledger.audit(reader);
    });
  }

  test("a commit whose response was lost is recognised when it is sent again, and acknowledged", async () => {
    await using pair = await pairWithMiddleman();
    const { one, two, ledger } = pair;
    assert.equal(await ledger.add(one, "a"), "acked");
    assert.equal(await pair.addAndLoseAnswer("a", () => two.report("b")), "acked");
    assert.equal(await ledger.add(one, "a"), "acked");
    assert.equal(ledger.count("FENCED"), 0);
    await pair.audit();
  });

  test("a commit that another process has built upon meanwhile has an unknown outcome", async () => {
    await using pair = await pairWithMiddleman();
    const { one, two, ledger } = pair;
    assert.equal(await ledger.add(one, "a"), "acked");
    const fate = await pair.addAndLoseAnswer("a", () => ledger.add(two, "a"));
    assert.equal(fate, "unknown", "it happened, and saying FENCED would make the caller do it again");
    assert.equal(await ledger.add(one, "a"), "acked");
    await pair.audit();
  });

  /** Two processes on one database; responses to the first one can get lost. */
  async function pairWithMiddleman() {
    await using stack = new AsyncDisposableStack();
    const url = new URL(await server.createDatabase());
    const direct = { folder: place.folder, store: url.href };
    const middleman = stack.use(await Middleman.before(server.port));
    url.port = `${middleman.port}`;
    // It retries for as long as the test needs on a busy machine.
    const patient = { storeTimeout: "60s", callTimeout: "120s", alone: true };
    const one = stack.use(await HostProcess.start({ folder: place.folder, store: url.href, ...patient }));
    const two = stack.use(await HostProcess.start({ ...direct, alone: true }));
    const ledger = new Ledger();
    const all = stack.move();
    return {
      one,
      two,
      ledger,
      /** The increment is stored, then `meanwhile` runs, then its process can reach the database again. */
      async addAndLoseAnswer(actor: string, meanwhile: () => Promise<unknown>): Promise<"acked" | "unknown"> {
        const before = (await two.version(actor)) ?? 0;
        middleman.loseAnswersFrom(COMMIT);
        const fate = ledger.add(one, actor);
        await until(async () => (await two.version(actor)) === before + 1, "the commit arrives");
        await meanwhile();
        middleman.losesAnswers = false;
        return fate;
      },
      async audit(): Promise<void> {
        await using reader = await HostProcess.start({ ...direct, alone: true });
        await ledger.audit(reader);
      },
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    };
  }
});

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; ) {
    if (await condition()) return;
    await pause(10);
  }
  assert.fail(`never happened: ${what}`);
}

/** Callers that never stop. */
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
    while (!this.#stopping && !host.dead) await this.ledger.add(host, `actor ${this.#chance.below(ACTORS)}`);
  }

  /** A lane that fails, or ends before it should, ends the wait. */
  async until(condition: () => boolean, what: string): Promise<void> {
    const lost = this.#lanes.map((lane) => lane.then(() => assert.fail("a process ended by itself")));
    await Promise.race([until(condition, what), ...lost]);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#lanes);
  }
}
