import assert from "node:assert/strict";
import { test } from "node:test";
import type { LimpetSettings } from "./limpet-settings.ts";
import { weaknessesOf } from "./relations.ts";
import { KEY, refused, resolved, yaml } from "./settings-kit.test.ts";

test("storeTimeout must not be longer than callTimeout", () => {
  const message = refused({ flags: { "call-timeout": "5s" } });
  assert.match(message, /^storeTimeout \(default\) is 10s and --call-timeout is 5s; /);
  assert.equal(resolved({ flags: { "call-timeout": "5s", "store-timeout": "5s" } }).settings.storeTimeout, 5_000);
});

test("an HTTP address that other machines can reach needs a token", () => {
  assert.match(
    refused({ flags: { host: "0.0.0.0" } }),
    /^--host is "0\.0\.0\.0", which others can reach, so a token is needed/,
  );
  assert.equal(resolved({ flags: { host: "0.0.0.0", token: ["secret"] } }).settings.httpHost, "0.0.0.0");
  assert.equal(resolved({ flags: { host: "localhost" } }).settings.httpHost, "localhost");
});

test("the cluster is on by default, and an object holds its options", () => {
  assert.equal(resolved({ code: { cluster: false } }).settings.cluster, false);
  assert.equal(resolved({ code: { cluster: {} } }).settings.cluster, true);
  assert.equal(resolved({ file: yaml("cluster: no\n") }).settings.cluster, false);
  assert.equal(resolved({ code: { cluster: { port: 1 } }, flags: { cluster: false } }).settings.cluster, false);
  assert.match(refused({ file: yaml("cluster:\n  leese: 5s\n") }), /:2\): .* did you mean "cluster\.lease"\?/);
  assert.match(refused({ file: yaml("lease: 5s\n") }), /did you mean "cluster\.lease"\?/);
  assert.match(refused({ file: yaml("linkPort: 5\n") }), /did you mean "cluster\.port"\?/);
});

test("durations of the cluster have their bounds", () => {
  assert.match(refused({ flags: { lease: "999ms" } }), /^--lease: "999ms" is too short; allowed is 1s and more/);
  assert.equal(refused({ flags: { lease: "301s" } }), '--lease: "301s" is too long; allowed is 5m and less');
  assert.match(refused({ flags: { "leader-lease": "299ms" } }), /is too short; allowed is 300ms and more/);
  assert.match(refused({ flags: { "replication-factor": "0" } }), /allowed is 1 to 1000/);
  assert.match(refused({ flags: { failover: "slow" } }), /is not one of auto, lease, fast/);
});

test("times of the cluster must fit each other, and the error states the reason", () => {
  assert.equal(
    refused({ flags: { lease: "5s", "round-timeout": "4s" } }),
    "cluster.leaderLease (default) is 3s and --lease is 5s; cluster.leaderLease must be at most half of cluster.lease, " +
      "or hosts lose their lease before another scheduler leads",
  );
  assert.match(
    refused({ flags: { "round-timeout": "10s" } }),
    /^--round-timeout is 10s and cluster\.lease \(default\) is 10s; cluster\.roundTimeout must be shorter than cluster\.lease/,
  );
  assert.match(
    refused({ env: { LIMPET_CLUSTER_MOVE_TIMEOUT: "8s" } }),
    /^LIMPET_CLUSTER_MOVE_TIMEOUT \(environment\) is 8s and .* cluster\.moveTimeout must be shorter than cluster\.roundTimeout/,
  );
  const fitting = { lease: "6s", "leader-lease": "3s", "round-timeout": "5s", "move-timeout": "4s" };
  assert.equal(resolved({ flags: fitting }).settings.lease, 6_000);
});

test("a cluster address or a scheduler beyond this machine needs a cluster key", () => {
  assert.equal(
    refused({ flags: { "cluster-host": "10.0.0.5" } }),
    '--cluster-host is "10.0.0.5", which others can reach, so a key of the cluster is needed; set LIMPET_CLUSTER_KEYS ' +
      "or cluster.keys, or use 127.0.0.1",
  );
  assert.match(
    refused({ flags: { schedulers: ["127.0.0.1:7400", "ten:7400"] } }),
    /^--schedulers names "ten:7400", which is not this machine, so a key of the cluster is needed/,
  );
  const env = { LIMPET_CLUSTER_KEYS: KEY };
  assert.equal(resolved({ env, flags: { "cluster-host": "10.0.0.5" } }).settings.clusterHost, "10.0.0.5");
  assert.deepEqual(resolved({ env, flags: { schedulers: ["ten:7400"] } }).settings.schedulers, ["ten:7400"]);
  assert.equal(resolved({ flags: { "cluster-host": "::1" } }).settings.clusterHost, "::1");
});

test('the address of a host must be reachable, which "all addresses" is not', () => {
  for (const host of ["0.0.0.0", "::", "[::]", "0:0:0:0:0:0:0:0", "::ffff:0.0.0.0", "0"]) {
    const message = refused({ env: { LIMPET_CLUSTER_KEYS: KEY }, flags: { "cluster-host": host } });
    assert.match(message, /is no address that others could call; write the one at which they reach this machine/, host);
  }
});

test("a key has a minimum length, a scheduler is host:port, and a name is valid", () => {
  assert.equal(
    refused({ flags: { "cluster-key": ["fifteen-letters"] } }),
    "--cluster-key: (hidden) must have at least 16 characters",
  );
  for (const address of ["10.0.0.1", "7400", ":7400", "http://x:7400", "::1:7400", "x:", "x:7400/y", ""]) {
    assert.match(refused({ code: { schedulers: [address] } }), /^schedulers \(code\): /, address);
  }
  assert.match(refused({ code: { schedulers: ["a:0"] } }), /must have a port from 1 to 65535/);
  assert.match(refused({ code: { schedulers: ["0.0.0.0:7400"] } }), /no address that others could call/);
  assert.match(refused({ code: { cluster: { name: "a/b" } } }), /^cluster\.name \(code\): "a\/b" must not contain/);
});

test("short tokens and keys on reachable addresses get a warning that does not repeat them", () => {
  const weak = (code: LimpetSettings): string[] =>
    weaknessesOf(resolved({ code }).settings).map(({ option, why }) => `${option}: ${why}`);
  const open = { http: { host: "0.0.0.0", tokens: ["x"] }, cluster: { host: "10.0.0.1", keys: ["sixteen-letters!"] } };
  const [token, key, ...more] = weak(open);
  assert.match(token!, /^http\.tokens: a token of 1 characters can be guessed;/);
  assert.match(key!, /^cluster\.keys: a key of 16 characters can be guessed;/);
  assert.ok(!key!.includes("sixteen-letters!") && more.length === 0);
  const strong = "0123456789abcdef0123456789abcdef";
  assert.deepEqual(
    weak({ http: { ...open.http, tokens: [strong] }, cluster: { ...open.cluster, keys: [strong] } }),
    [],
  );
  assert.deepEqual(weak({ http: { tokens: ["x"] }, cluster: { keys: ["sixteen-letters!"] } }), []);
});
