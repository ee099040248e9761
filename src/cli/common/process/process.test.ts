import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli, tempFolder } from "../../../../test/support/cli.ts";
import { resolveWithOrigins } from "../../../config/settings.ts";
import type { App } from "../../../host/app.ts";
import { isLimpetError, LimpetError } from "../../../kernel/errors.ts";
import type { ClusterHost, ClusterView, HostStatus } from "../../../ports/host-admin.ts";
import { ownAddress, schedulerBanner } from "../../scheduler/banner.ts";
import type { Context } from "../command.ts";
import { Failure } from "../failure.ts";
import { Terminal } from "../terminal.ts";
import { clusterLine, glance, glanceAtCluster } from "./cluster-glance.ts";
import { openSomewhere } from "./free-port.ts";

const plain = (_tint: string, text: string): string => text;
const ADDRESS = "127.0.0.1:7401";

const status: HostStatus = {
  incarnation: "i1",
  version: "1.2.3",
  namespace: "default",
  startedAt: 0,
  store: "memory:",
  address: ADDRESS,
  scheduler: undefined,
  ready: true,
  problem: undefined,
};

const host = (incarnation: string, address: string, more: Partial<ClusterHost> = {}): ClusterHost => ({
  namespace: "default",
  address,
  name: "",
  incarnation,
  state: "member",
  leaseLeftMs: 1,
  types: ["Cart"],
  actors: 0,
  ...more,
});

const embedded = { address: "127.0.0.1:9", incarnation: "s1", dedicated: false, leader: true };
const apart = { address: "127.0.0.1:7400", incarnation: "s2", dedicated: true, leader: true };
const here = host("i1", ADDRESS);
const seen = (schedulers: ClusterView["schedulers"], hosts: readonly ClusterHost[], leads = false): string => {
  const own = { ...status, scheduler: { address: undefined, leads } };
  return clusterLine(glance(own, ADDRESS, { term: 1, schedulers, hosts, tables: [] }));
};

test("the cluster line shows the number of hosts and the leader", () => {
  assert.equal(seen([embedded], [here], true), "1 host, leader here");
  assert.equal(seen([apart], [here]), "1 host, led by 127.0.0.1:7400");
  assert.equal(seen([embedded], [here, host("i2", "b:1")], true), "joined 1 other host, leader here");
  assert.equal(seen([embedded], [here, host("i2", "b:1")]), "joined 1 other host, led by 127.0.0.1:9");
  assert.equal(seen([], [here, host("i2", "b:1"), host("i3", "c:1")]), "joined 2 other hosts");
  const elsewhere = [host("i2", "b:1", { namespace: "blue" }), host("i3", "c:1", { state: "evicted" })];
  elsewhere.push(host("i4", "d:1", { types: [] }));
  assert.equal(seen([embedded], [here, ...elsewhere], true), "1 host, leader here");
  assert.equal(clusterLine(glance(status, ADDRESS, undefined)), "127.0.0.1:7401, not joined yet");
});

const appOf = (cluster: () => Promise<ClusterView>, address: string | undefined = ADDRESS): App =>
  ({ host: { status: () => ({ ...status, address }), cluster } }) as unknown as App;

test("a cluster glance never fails and never waits long, and leaves out unknown fields", async () => {
  const refusing = appOf(() => Promise.reject(new LimpetError("NOT_READY", "no leader")));
  assert.deepEqual(await glanceAtCluster(refusing), { address: ADDRESS, joined: false });
  assert.deepEqual(await glanceAtCluster(appOf(() => new Promise(() => {}))), { address: ADDRESS, joined: false });
  const alone = { host: { status: () => ({ ...status, address: undefined }) } } as unknown as App;
  assert.equal(await glanceAtCluster(alone), undefined);
});

test("the scheduler banner shows its address, its leadership and the command to join", () => {
  const ready = {
    version: "1.2.3",
    readyInMs: 12,
    url: "http://127.0.0.1:7300",
    store: "/x.db",
    needsKey: false,
    address: "127.0.0.1:7400",
    cluster: { address: ADDRESS, joined: true, term: 2, leader: "127.0.0.1:7400", leaderHere: false },
    join: "limpet dev app.ts --schedulers 127.0.0.1:7400",
  };
  const text = schedulerBanner(ready, plain);
  assert.match(text, /^limpet scheduler 1\.2\.3 is ready \(12 ms after start\)\n/);
  assert.match(text, /Hosts +127\.0\.0\.1:7400\n {2}Leads +yes, term 2\n/);
  assert.match(text, /\n {2}limpet dev app\.ts --schedulers 127\.0\.0\.1:7400\n/);
  assert.doesNotMatch(text, /LIMPET_CLUSTER_KEYS/);
  assert.match(schedulerBanner({ ...ready, needsKey: true }, plain), /LIMPET_CLUSTER_KEYS/);
  const second = { ...ready.cluster, leader: "127.0.0.1:7399" };
  assert.match(schedulerBanner({ ...ready, cluster: second }, plain), /Leads +no, 127\.0\.0\.1:7399 leads/);
  assert.match(schedulerBanner({ ...ready, cluster: { address: "x:1", joined: false } }, plain), /not known yet/);
});

test("the address of a scheduler is its configured port, or the only dedicated scheduler", () => {
  const cluster = { address: ADDRESS, joined: true, dedicated: ["127.0.0.1:5"] };
  assert.equal(ownAddress({ clusterHost: "::1", schedulerPort: 7400 }, undefined), "[::1]:7400");
  assert.equal(ownAddress({ clusterHost: "127.0.0.1", schedulerPort: 0 }, cluster), "127.0.0.1:5");
  const two = { ...cluster, dedicated: ["127.0.0.1:5", "127.0.0.1:6"] };
  assert.equal(ownAddress({ clusterHost: "127.0.0.1", schedulerPort: 0 }, two), undefined);
});

function opening(taken: readonly number[]) {
  const printed: string[] = [];
  const stream = { write: (text: string) => void printed.push(text) };
  const context = { terminal: new Terminal(stream, stream, {}), json: false } as unknown as Context;
  const tried: number[] = [];
  const open = async ({ httpPort }: { httpPort: number }): Promise<App> => {
    tried.push(httpPort);
    if (!taken.includes(httpPort)) return {} as App;
    throw new LimpetError("ADDRESS_IN_USE", "taken", { cause: { port: httpPort } });
  };
  const resolved = (flags: Record<string, string> = {}) =>
    resolveWithOrigins({ file: false, env: {}, code: { http: true }, flags });
  const free = async () => undefined;
  return { said: printed, tried, open, context, resolved, free };
}

test("the next free port is taken when the default one is in use, and never instead of a configured one", async () => {
  const { said: printed, tried, open, context, resolved, free } = opening([7300, 7301]);
  await openSomewhere(resolved(), context, open, free);
  assert.deepEqual(tried, [7300, 7301, 7302]);
  assert.deepEqual(printed, ["Port 7300 is taken; using 7302.\n"]);
  await assert.rejects(openSomewhere(resolved({ port: "7301" }), context, open, free), /port 7301 is taken/);
  const all = opening(Array.from({ length: 10 }, (_, index) => 7300 + index));
  await assert.rejects(
    openSomewhere(all.resolved(), all.context, all.open, free),
    /all ports from 7300 to 7309 are taken/,
  );
});

test("no app is opened for a port that is in use", async () => {
  const { said: printed, tried, open, context, resolved } = opening([]);
  const probe = async (_host: string, port: number) => (port < 7303 ? "EADDRINUSE" : undefined);
  await openSomewhere(resolved(), context, open, probe);
  assert.deepEqual(tried, [7303]);
  assert.deepEqual(printed, ["Port 7300 is taken; using 7303.\n"]);
  await assert.rejects(openSomewhere(resolved({ port: "7301" }), context, open, probe), /port 7301 is taken/);
  await openSomewhere(resolved({ port: "0" }), context, open, async () => assert.fail("any port will do"));
  assert.deepEqual(tried, [7303, 0]);
});

test("a taken cluster port is not mistaken for the HTTP port", async () => {
  const { tried, context, resolved, free } = opening([]);
  const open = async ({ httpPort }: { httpPort: number }): Promise<App> => {
    tried.push(httpPort);
    throw new LimpetError("ADDRESS_IN_USE", "port 7400 is in use", { cause: { port: 7400 } });
  };
  await assert.rejects(openSomewhere(resolved(), context, open, free), (error) => {
    assert.ok(error instanceof Failure && isLimpetError(error, "ADDRESS_IN_USE"));
    assert.match(error.hint ?? "", /--scheduler-port/);
    return true;
  });
  assert.deepEqual(tried, [7300]);
});

test("a scheduler without a cluster is wrong usage", async () => {
  using folder = tempFolder();
  const flag = await runCli(["scheduler", "--no-cluster"], { cwd: folder.path });
  assert.deepEqual([flag.code, flag.stdout], [2, ""]);
  assert.match(flag.stderr, /a scheduler needs a cluster, but --no-cluster disables it/);
  const wrong = await runCli(["scheduler", "--lease", "1h"], { cwd: folder.path });
  assert.match(
    wrong.stderr,
    /--lease: "1h" is too long; allowed is 5m and less\n {8}All settings: limpet help options/,
  );
});
