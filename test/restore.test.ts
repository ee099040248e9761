// A store is restored from a backup under hosts that keep running. The restored store assigns the same rows
// to other actors. A host that still has an actor in memory whose row is gone must not commit into the row of
// another actor.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Actor, isLimpetError, limpet } from "../src/index.ts";
import { backUp } from "./support/restores.ts";
import { type Place, STORES } from "./support/two-stores.ts";

class Diary extends Actor<{ lines: string[] }> {
  initial() {
    return { lines: [] };
  }
  async add(line: string): Promise<readonly string[]> {
    this.state.lines.push(line);
    return this.state.lines;
  }
  async lines(): Promise<readonly string[]> {
    return this.state.lines;
  }
}

type App = Awaited<ReturnType<typeof open>>;
const open = (store: string, namespace = "default") =>
  limpet({ actors: [Diary], store, namespace, cluster: false, http: false });

/** Version of the actor's row in the store. */
async function versionOf(app: App, id: string): Promise<number | undefined> {
  return (await app.host.explain("Diary", id)).stored?.version;
}

/** An actor that is fenced is taken again: its caller may try again at once. */
async function addUntilDone(app: App, id: string, line: string): Promise<readonly string[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await app.actor(Diary, id).add(line);
    } catch (error) {
      if (!isLimpetError(error, "FENCED") || attempt === 20) throw error;
    }
  }
}

for (const { name, open: openPlace } of STORES) {
  describe(`a restore of ${name} under running hosts`, { timeout: 600_000 }, () => {
    let place: Place;
    before(async () => {
      place = await openPlace();
    });
    after(() => place?.[Symbol.asyncDispose]());

    for (const other of ["another host", "another host of another namespace", "the same host"] as const) {
      test(`an actor whose row is gone does not commit into the row of an actor of ${other}`, async () => {
        const namespace = other === "another host of another namespace" ? "elsewhere" : "default";
        await using first = await open(place.store);
        await using second = await open(place.store, namespace);
        const writer = other === "the same host" ? first : second;
        const [alice, bob] = [`alice of ${other}`, `bob of ${other}`];
        // The host has taken actors before the backup, as every host that has been running for a while.
        await first.actor(Diary, "early").add("1");
        await writer
          .actor(Diary, "early")
          .add("2")
          .catch(() => writer.actor(Diary, "early").add("2"));
        const restore = await backUp(place.store);
        await first.actor(Diary, alice).add("Alice 1");
        await first.actor(Diary, alice).add("Alice 2");
        await restore();
        // Bob gets the row that Alice had, and reaches the version that Alice's host knows.
        await writer.actor(Diary, bob).add("Bob 1");
        await writer.actor(Diary, bob).add("Bob 2");
        assert.equal(await versionOf(writer, bob), 2);

        await assert.rejects(first.actor(Diary, alice).add("Alice 3"), { code: "FENCED" });
        assert.equal(await versionOf(writer, bob), 2);
        assert.deepEqual(await writer.actor(Diary, bob).lines(), ["Bob 1", "Bob 2"]);
        assert.deepEqual(await writer.actor(Diary, bob).add("Bob 3"), ["Bob 1", "Bob 2", "Bob 3"]);
        // Alice's work after the backup is lost, and Alice continues from there.
        assert.deepEqual(await addUntilDone(first, alice, "Alice 4"), ["Alice 4"]);
        if (place.store.startsWith("postgres:")) await dropBackup(place.store);
      });
    }
  });
}

async function dropBackup(url: string): Promise<void> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("DROP SCHEMA backup CASCADE");
  await client.end();
}
