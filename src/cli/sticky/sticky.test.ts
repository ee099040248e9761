// The command with the real HTTP server in front of a fake host.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { runCli } from "../../../test/support/cli.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { ClusterTable, StickyActor, StickyQuery } from "../../ports/host-admin.ts";
import { CLUSTER, FakeHost, openTestServer } from "../../wire/http/server-kit.test.ts";

const SINCE = 0;
const held = (id: string, more: Partial<StickyActor> = {}): StickyActor => ({
  type: "Session",
  id,
  address: "10.0.0.5:7401",
  name: "alpha",
  since: SINCE,
  away: false,
  ...more,
});

/** Holds some actors of Session, and shows one on each page. */
class Holder extends FakeHost {
  actors: StickyActor[] = [held("alice"), held("bob", { address: "10.0.0.16:7401", name: "beta", away: true })];
  tables: ClusterTable[] = [
    { ...CLUSTER.tables[0]!, sticky: undefined },
    {
      ...CLUSTER.tables[0]!,
      type: "Session",
      sticky: { lost: 600_000, holders: [{ address: "10.0.0.5:7401", name: "alpha", actors: 1, away: false }] },
    },
  ];

  override async cluster() {
    return { ...CLUSTER, tables: this.tables };
  }

  override async sticky(query: StickyQuery) {
    this.stickyQueries.push(query);
    const { type, id, prefix = "", after } = query;
    const found = this.actors.filter(
      (actor) =>
        actor.type === type &&
        (id === undefined || actor.id === id) &&
        actor.id.startsWith(prefix) &&
        (after === undefined || actor.id > after.id),
    );
    const next = found.length > 1 ? { type: found[0]!.type, id: found[0]!.id } : undefined;
    return { actors: found.slice(0, 1), next };
  }
}

async function open(t: TestContext) {
  const host = new Holder();
  const { url } = await openTestServer(t, host);
  return {
    host,
    sticky: (...argv: string[]) => runCli(["sticky", ...argv, "--url", url]),
    onTerminal: (...argv: string[]) => runCli(["sticky", ...argv, "--url", url], { tty: true }),
  };
}

test("limpet sticky shows each sticky type with its holders and its rule, for display and for programs", async (t) => {
  const { host, sticky, onTerminal } = await open(t);
  assert.deepEqual(await sticky(), {
    code: 0,
    stdout:
      "Session: 1 sticky actor.\n" +
      "When a host is lost, its actors are kept for a host of its name for 10m; then they may live on another one.\n" +
      "HOST           NAME   ACTORS\n" +
      "10.0.0.5:7401  alpha       1\n",
    stderr: "",
  });
  assert.ok((await onTerminal()).stdout.includes("\u001b["), "colours where a person looks");
  assert.deepEqual(JSON.parse((await sticky("--json")).stdout), {
    types: [{ namespace: "default", type: "Session", ...host.tables[1]!.sticky }],
  });
});

test("limpet sticky without sticky types shows how to make one", async (t) => {
  const { host, sticky } = await open(t);
  host.tables = host.tables.slice(0, 1);
  const none = await sticky();
  assert.deepEqual([none.code, none.stdout], [0, ""]);
  assert.match(none.stderr, /^No type is sticky\. .*static options = \{ placement: "sticky" \}\n$/);
  const json = await sticky("--json");
  assert.deepEqual([json.stdout, json.stderr], ['{"types":[]}\n', ""]);
});

test("limpet sticky with a type lists its actors, page by page up to the limit", async (t) => {
  const { host, sticky } = await open(t);
  const { stdout, stderr } = await sticky("Session");
  assert.equal(stderr, "");
  const [titles, alice, bob, ...rest] = stdout.split("\n");
  assert.match(titles!, /^ID +HOST +NAME +SINCE +AWAY$/);
  assert.match(alice!, /^alice {2}10\.0\.0\.5:7401 {2}alpha {2}1970-01-01T00:00:00\.000Z \(.* ago\) {2}-$/);
  assert.match(bob!, /^bob {2}10\.0\.0\.16:7401 {2}beta {2}1970-01-01T00:00:00\.000Z \(.* ago\) {2}away$/);
  assert.deepEqual(rest, [""]);
  assert.deepEqual(host.stickyQueries, [
    { type: "Session", prefix: undefined, after: undefined, limit: 50 },
    { type: "Session", prefix: undefined, after: { type: "Session", id: "alice" }, limit: 49 },
  ]);
  assert.match((await sticky("Session", "--limit", "1")).stderr, /Only the first 1 are shown; --all shows all/);
  const cut = JSON.parse((await sticky("Session", "--limit", "1", "--json")).stdout);
  assert.deepEqual([cut.actors, typeof cut.next], [[held("alice")], "string"]);
  const some = JSON.parse((await sticky("Session", "--prefix", "b", "--all", "--json")).stdout);
  assert.deepEqual(some, { actors: [host.actors[1]] });
});

test("an empty list of sticky actors shows its reason", async (t) => {
  const { host, sticky } = await open(t);
  host.actors = [];
  const misspelt = await sticky("Sesion");
  assert.match(misspelt.stderr, /has no type Sesion; did you mean Session\?/);
  assert.match(misspelt.stderr, /Its types: Cart, Session/);
  assert.notEqual(misspelt.code, 0);
  assert.match((await sticky("Cart")).stderr, /^Cart is not sticky: .*static options = \{ placement: "sticky" \}\n$/);
  const json = await sticky("Session", "--json");
  assert.deepEqual([json.code, json.stdout, json.stderr], [0, '{"actors":[]}\n', ""]);
  const nobody = await sticky("Session");
  assert.deepEqual([nobody.code, nobody.stdout], [0, ""]);
  assert.match(nobody.stderr, /^No host holds an actor of Session\. .* limpet call Session <id> <method>\n$/);
  assert.match((await sticky("Session", "--prefix", "x")).stderr, /an actor of Session whose id begins with x\./);
  // A type of the same name in another namespace is irrelevant.
  host.tables = host.tables.map((table) => ({ ...table, namespace: "blue" }));
  assert.match((await sticky("Session")).stderr, /has no type Session[\s\S]*Its types: none/);
  assert.notEqual((await sticky("Session", "--json")).code, 0);
});

test("limpet sticky with an id shows that actor, and an actor without a holder is an error with a hint", async (t) => {
  const { host, sticky } = await open(t);
  assert.match((await sticky("Session", "alice")).stdout, /^Session\/alice is held by alpha \(10\.0\.0\.5:7401\)\.\n/);
  assert.match((await sticky("Session", "bob")).stdout, /^Session\/bob is kept for beta .*, which is away\.\n/);
  assert.deepEqual(JSON.parse((await sticky("Session", "alice", "--json")).stdout), host.actors[0]);
  const nobody = await sticky("Session", "carol");
  assert.deepEqual([nobody.code, nobody.stdout], [1, ""]);
  assert.match(nobody.stderr, /^limpet: no host holds Session\/carol: .*\n {8}limpet sticky shows the sticky types\. /);
  assert.match(nobody.stderr, /static options = \{ placement: "sticky" \}/);
  assert.equal(JSON.parse((await sticky("Session", "carol", "--json")).stderr).errorCode, "NOT_STICKY");
  assert.deepEqual(host.released, []);
});

test("limpet sticky --release releases that actor, and shows the next step", async (t) => {
  const { host, sticky } = await open(t);
  const released = await sticky("Session", "alice", "--release");
  assert.deepEqual(released, {
    code: 0,
    stdout: "alpha (10.0.0.5:7401) releases Session/alice when its turn has ended. The next call places it again.\n",
    stderr: "",
  });
  assert.match(
    (await sticky("Session", "bob", "--release")).stdout,
    /bob is no longer kept for beta .* places it again/,
  );
  host.actors.push(held("ü %"));
  const json = await sticky("Session", "ü %", "--release", "--json");
  assert.deepEqual(JSON.parse(json.stdout), { released: held("ü %") });
  assert.deepEqual(host.released, [
    ["Session", "alice"],
    ["Session", "bob"],
    ["Session", "ü %"],
  ]);
});

test("an actor that cannot be released is an error, and no success is reported", async (t) => {
  const { host, sticky } = await open(t);
  const unknown = await sticky("Session", "carol", "--release");
  assert.deepEqual([unknown.code, unknown.stdout], [1, ""]);
  assert.deepEqual(host.released, []);
  host.release = () => Promise.reject(new LimpetError("NOT_READY", "no scheduler leads"));
  const refused = await sticky("Session", "alice", "--release");
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /^limpet: no scheduler leads\n/);
});

test("contradicting options of limpet sticky are wrong usage before any request", async (t) => {
  const { host, sticky } = await open(t);
  const wrong: [string[], RegExp][] = [
    [["--release"], /--release needs the type and the id of an actor\n {8}limpet sticky Session <id>/],
    [
      ["Session", "--release"],
      /--release needs the type and the id of an actor\n {8}limpet sticky Session <id> --release/,
    ],
    [["--prefix", "a"], /--prefix applies to the list of a type: give a type and no id\n {8}For example: /],
    [["--all"], /--all applies to the list/],
    [["Session", "alice", "--limit", "5"], /--limit applies to the list/],
    [["Session", "alice", "--release", "--all"], /--all applies to the list/],
    [["Session", "--limit", "0"], /--limit: "0" is not a whole number of at least 1/],
    [["Session", "--limit", "5", "--all"], /--all and --limit exclude each other/],
    [[""], /actor type must not be empty/],
    [["Session", ".."], /actor id must not be "\.\."/],
    [["Session", "alice", "more"], /limpet sticky takes no further argument: "more"/],
  ];
  for (const [argv, message] of wrong) {
    const { code, stdout, stderr } = await sticky(...argv);
    assert.deepEqual([code, stdout], [2, ""], argv.join(" "));
    assert.match(stderr, message);
  }
  assert.deepEqual([host.stickyQueries, host.released], [[], []]);
});
