import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { LimpetSettings } from "./limpet-settings.ts";
import { resolveSettings, resolveWithOrigins } from "./settings.ts";
import { folder, KEY, refused, resolved, yaml } from "./settings-kit.test.ts";

test("the defaults apply without any settings", () => {
  const { settings, origins, file } = resolved({});
  assert.deepEqual(settings, {
    namespace: "default",
    store: ".limpet/limpet.db",
    http: false,
    httpHost: "127.0.0.1",
    httpPort: 7300,
    httpTokens: [],
    idleTimeout: 600_000,
    callTimeout: 30_000,
    mailboxLimit: 1_000,
    maxResident: 200_000,
    sticky: "by class",
    drainTimeout: 10_000,
    storeTimeout: 10_000,
    storeConnections: 17,
    unhandledCalls: "log",
    logLevel: "warn",
    cluster: true,
    clusterName: "",
    clusterRoles: [],
    clusterHost: "127.0.0.1",
    linkPort: 0,
    schedulerPort: 0,
    clusterKeys: [],
    schedulers: [],
    lease: 10_000,
    leaderLease: 3_000,
    roundTimeout: 8_000,
    coalesce: 0,
    replicationFactor: 100,
    moveTimeout: 2_000,
    failover: "auto",
    shardingRebalanceThreshold: 1,
    shardingBufferSize: 10_000,
    shardingRetryInterval: 1_000,
    shardingStartTimeout: 10_000,
    shardingMinHosts: 1,
    reminders: true,
    reminderPollInterval: 2_500,
    reminderFetchAhead: 5_000,
    reminderBatchSize: 500,
    reminderLease: 30_000,
    reminderConcurrency: 1_000,
    reminderDirect: true,
    worker: true,
    workerQueue: "default",
    workerBuild: "",
    workerCompatibleBuilds: [],
    workerPinning: "build",
    workerConcurrency: 1_000,
    workerLease: 30_000,
    workerHttpLease: 60_000,
    workerHttpActivityLease: 300_000,
    workerPollInterval: 1_000,
    workerSticky: true,
    workerStickyTtl: 300_000,
    workerCacheRuns: 10_000,
    workerCacheMegabytes: 256,
    workerHistoryEvents: 50_000,
    workerHistoryMegabytes: 50,
    workerMaxLostAttempts: 3,
  });
  assert.ok(Object.values(origins).every((origin) => origin.source === "default"));
  assert.equal(file, undefined);
});

test("a flag overrides the environment, the environment code, code the file, and the file a command", () => {
  const code: LimpetSettings = { namespace: "code", store: "code.db", http: { port: 1 }, mailboxLimit: 1 };
  const command: LimpetSettings = { logLevel: "info", idleTimeout: "1h", maxResident: 7 };
  const file = yaml("namespace: file\nstore: file.db\nhttp:\n  port: 2\n  host: ::1\nidleTimeout: 2h\n");
  const env = { LIMPET_NAMESPACE: "env", LIMPET_STORE: "env.db" };
  const { settings, origins } = resolved({ code, command, file, env, flags: { namespace: "flag" } });
  assert.equal(settings.namespace, "flag");
  assert.equal(settings.store, "env.db");
  assert.equal(settings.httpPort, 1);
  assert.equal(settings.mailboxLimit, 1);
  assert.equal(settings.callTimeout, 30_000);
  assert.deepEqual(origins.namespace, { source: "flag", name: "--namespace" });
  assert.deepEqual(origins.store, { source: "environment", name: "LIMPET_STORE" });
  assert.deepEqual(origins.httpPort, { source: "code", name: "http.port" });
  assert.deepEqual([settings.httpHost, settings.idleTimeout], ["::1", 2 * 3_600_000]);
  assert.deepEqual(origins.httpHost, { source: "file", name: "http.host", place: `${file}:5` });
  assert.deepEqual([settings.logLevel, settings.maxResident], ["info", 7]);
  assert.deepEqual(origins.maxResident, { source: "command", name: "maxResident" });
  assert.deepEqual(origins.mailboxLimit, { source: "code", name: "mailboxLimit" });
  assert.deepEqual(origins.callTimeout, { source: "default", name: "callTimeout" });
});

test("every setting can come from every source", () => {
  const code: LimpetSettings = {
    namespace: "n",
    store: "memory:",
    http: { host: "::1", port: 0, tokens: ["a", "b"] },
    idleTimeout: 2_000,
    callTimeout: "1m",
    mailboxLimit: 5,
    maxResident: 6,
    sticky: ["Player", "Cart"],
    drainTimeout: "1s",
    storeTimeout: "1s",
    storeConnections: 9,
    unhandledCalls: "crash",
    logLevel: "debug",
    cluster: {
      name: "alpha",
      roles: ["front"],
      host: "10.0.0.5",
      port: 1,
      schedulerPort: 2,
      keys: [KEY, "another-key-of-the-cluster"],
      lease: "20s",
      leaderLease: 400,
      roundTimeout: "1s",
      coalesce: "100ms",
      replicationFactor: 5,
      moveTimeout: "500ms",
      failover: "fast",
    },
    schedulers: ["10.0.0.1:7400", "[::1]:7400"],
    sharding: { rebalanceThreshold: 2, bufferSize: 3, retryInterval: "2s", startTimeout: "3s", minHosts: 4 },
    reminders: { pollInterval: "1s", fetchAhead: "2s", batchSize: 7, lease: "9s", concurrency: 8, direct: false },
    worker: {
      queue: "q",
      build: "b",
      compatibleBuilds: ["a"],
      pinning: "definition",
      concurrency: 3,
      lease: "8s",
      httpLease: "7s",
      httpActivityLease: "6s",
      pollInterval: "2s",
      sticky: false,
      stickyTtl: "1m",
      cacheRuns: 4,
      cacheMegabytes: 5,
      historyEvents: 60,
      historyMegabytes: 7,
      maxLostAttempts: 9,
    },
  };
  const file = yaml(
    "namespace: n\nstore: 'memory:'\nhttp: { host: '::1', port: 0, tokens: [a, b] }\nidleTimeout: 2s\ncallTimeout: 1m\n" +
      "mailboxLimit: 5\nmaxResident: 6\nsticky: [Player, Cart]\ndrainTimeout: 1s\nstoreTimeout: 1s\nstoreConnections: 9\nunhandledCalls: crash\nlogLevel: debug\n" +
      "schedulers: [10.0.0.1:7400, '[::1]:7400']\n" +
      `cluster: { name: alpha, roles: [front], host: 10.0.0.5, port: 1, schedulerPort: 2, keys: [${KEY}, another-key-of-the-cluster],\n` +
      "  lease: 20s, leaderLease: 400ms, roundTimeout: 1s, coalesce: 100ms, replicationFactor: 5, moveTimeout: 500ms,\n" +
      "  failover: fast }\n" +
      "sharding: { rebalanceThreshold: 2, bufferSize: 3, retryInterval: 2s, startTimeout: 3s, minHosts: 4 }\n" +
      "reminders: { pollInterval: 1s, fetchAhead: 2s, batchSize: 7, lease: 9s, concurrency: 8, direct: no }\n" +
      "worker: { queue: q, build: b, compatibleBuilds: [a], pinning: definition, concurrency: 3, lease: 8s, httpLease: 7s, httpActivityLease: 6s, pollInterval: 2s, sticky: no, stickyTtl: 1m, cacheRuns: 4,\n" +
      "  cacheMegabytes: 5, historyEvents: 60, historyMegabytes: 7, maxLostAttempts: 9 }\n",
  );
  const env = {
    LIMPET_NAMESPACE: "n",
    LIMPET_STORE: "memory:",
    LIMPET_HTTP: "yes",
    LIMPET_HTTP_HOST: "::1",
    LIMPET_HTTP_PORT: "0",
    LIMPET_HTTP_TOKENS: "a, b",
    LIMPET_IDLE_TIMEOUT: "2s",
    LIMPET_CALL_TIMEOUT: "1m",
    LIMPET_MAILBOX_LIMIT: "5",
    LIMPET_MAX_RESIDENT: "6",
    LIMPET_STICKY: "Player, Cart",
    LIMPET_DRAIN_TIMEOUT: "1s",
    LIMPET_STORE_TIMEOUT: "1s",
    LIMPET_STORE_CONNECTIONS: "9",
    LIMPET_UNHANDLED_CALLS: "crash",
    LIMPET_LOG_LEVEL: "debug",
    LIMPET_CLUSTER: "yes",
    LIMPET_CLUSTER_NAME: "alpha",
    LIMPET_CLUSTER_ROLES: "front",
    LIMPET_CLUSTER_HOST: "10.0.0.5",
    LIMPET_CLUSTER_PORT: "1",
    LIMPET_SCHEDULER_PORT: "2",
    LIMPET_CLUSTER_KEYS: `${KEY}, another-key-of-the-cluster`,
    LIMPET_SCHEDULERS: "10.0.0.1:7400,[::1]:7400",
    LIMPET_CLUSTER_LEASE: "20s",
    LIMPET_CLUSTER_LEADER_LEASE: "400ms",
    LIMPET_CLUSTER_ROUND_TIMEOUT: "1s",
    LIMPET_CLUSTER_COALESCE: "100ms",
    LIMPET_CLUSTER_REPLICATION_FACTOR: "5",
    LIMPET_CLUSTER_MOVE_TIMEOUT: "500ms",
    LIMPET_CLUSTER_FAILOVER: "fast",
    LIMPET_SHARDING_REBALANCE_THRESHOLD: "2",
    LIMPET_SHARDING_BUFFER_SIZE: "3",
    LIMPET_SHARDING_RETRY_INTERVAL: "2s",
    LIMPET_SHARDING_START_TIMEOUT: "3s",
    LIMPET_SHARDING_MIN_HOSTS: "4",
    LIMPET_REMINDERS: "yes",
    LIMPET_REMINDERS_POLL_INTERVAL: "1s",
    LIMPET_REMINDERS_FETCH_AHEAD: "2s",
    LIMPET_REMINDERS_BATCH_SIZE: "7",
    LIMPET_REMINDERS_LEASE: "9s",
    LIMPET_REMINDERS_CONCURRENCY: "8",
    LIMPET_REMINDERS_DIRECT: "no",
    LIMPET_WORKER: "yes",
    LIMPET_WORKER_QUEUE: "q",
    LIMPET_WORKER_BUILD: "b",
    LIMPET_WORKER_COMPATIBLE_BUILDS: "a",
    LIMPET_WORKER_PINNING: "definition",
    LIMPET_WORKER_CONCURRENCY: "3",
    LIMPET_WORKER_LEASE: "8s",
    LIMPET_WORKER_HTTP_LEASE: "7s",
    LIMPET_WORKER_HTTP_ACTIVITY_LEASE: "6s",
    LIMPET_WORKER_POLL_INTERVAL: "2s",
    LIMPET_WORKER_STICKY: "no",
    LIMPET_WORKER_STICKY_TTL: "1m",
    LIMPET_WORKER_CACHE_RUNS: "4",
    LIMPET_WORKER_CACHE_MEGABYTES: "5",
    LIMPET_WORKER_HISTORY_EVENTS: "60",
    LIMPET_WORKER_HISTORY_MEGABYTES: "7",
    LIMPET_WORKER_MAX_LOST_ATTEMPTS: "9",
  };
  const flags = {
    namespace: "n",
    store: "memory:",
    http: true,
    host: "::1",
    port: "0",
    token: ["a", "b"],
    "idle-timeout": "2s",
    "call-timeout": "1m",
    "mailbox-limit": "5",
    "max-resident": "6",
    sticky: ["Player", "Cart"],
    "drain-timeout": "1s",
    "store-timeout": "1s",
    "store-connections": "9",
    "unhandled-calls": "crash",
    "log-level": "debug",
    cluster: true,
    name: "alpha",
    role: ["front"],
    "cluster-host": "10.0.0.5",
    "cluster-port": "1",
    "scheduler-port": "2",
    "cluster-key": [KEY, "another-key-of-the-cluster"],
    schedulers: ["10.0.0.1:7400", "[::1]:7400"],
    lease: "20s",
    "leader-lease": "400ms",
    "round-timeout": "1s",
    coalesce: "100ms",
    "replication-factor": "5",
    "move-timeout": "500ms",
    failover: "fast",
    "sharding-rebalance-threshold": "2",
    "sharding-buffer-size": "3",
    "sharding-retry-interval": "2s",
    "sharding-start-timeout": "3s",
    "sharding-min-hosts": "4",
    reminders: true,
    "reminders-poll-interval": "1s",
    "reminders-fetch-ahead": "2s",
    "reminders-batch-size": "7",
    "reminders-lease": "9s",
    "reminders-concurrency": "8",
    "reminders-direct": false,
    worker: true,
    "worker-queue": "q",
    "worker-build": "b",
    "worker-compatible-builds": "a",
    "worker-pinning": "definition",
    "worker-concurrency": "3",
    "worker-lease": "8s",
    "worker-http-lease": "7s",
    "worker-http-activity-lease": "6s",
    "worker-poll-interval": "2s",
    "worker-sticky": false,
    "worker-sticky-ttl": "1m",
    "worker-cache-runs": "4",
    "worker-cache-megabytes": "5",
    "worker-history-events": "60",
    "worker-history-megabytes": "7",
    "worker-max-lost-attempts": "9",
  };
  const wanted = {
    namespace: "n",
    store: "memory:",
    http: true,
    httpHost: "::1",
    httpPort: 0,
    httpTokens: ["a", "b"],
    idleTimeout: 2_000,
    callTimeout: 60_000,
    mailboxLimit: 5,
    maxResident: 6,
    sticky: ["Player", "Cart"],
    drainTimeout: 1_000,
    storeTimeout: 1_000,
    storeConnections: 9,
    unhandledCalls: "crash",
    logLevel: "debug",
    cluster: true,
    clusterName: "alpha",
    clusterRoles: ["front"],
    clusterHost: "10.0.0.5",
    linkPort: 1,
    schedulerPort: 2,
    clusterKeys: [KEY, "another-key-of-the-cluster"],
    schedulers: ["10.0.0.1:7400", "[::1]:7400"],
    lease: 20_000,
    leaderLease: 400,
    roundTimeout: 1_000,
    coalesce: 100,
    replicationFactor: 5,
    moveTimeout: 500,
    failover: "fast",
    shardingRebalanceThreshold: 2,
    shardingBufferSize: 3,
    shardingRetryInterval: 2_000,
    shardingStartTimeout: 3_000,
    shardingMinHosts: 4,
    reminders: true,
    reminderPollInterval: 1_000,
    reminderFetchAhead: 2_000,
    reminderBatchSize: 7,
    reminderLease: 9_000,
    reminderConcurrency: 8,
    reminderDirect: false,
    worker: true,
    workerQueue: "q",
    workerBuild: "b",
    workerCompatibleBuilds: ["a"],
    workerPinning: "definition",
    workerConcurrency: 3,
    workerLease: 8_000,
    workerHttpLease: 7_000,
    workerHttpActivityLease: 6_000,
    workerPollInterval: 2_000,
    workerSticky: false,
    workerStickyTtl: 60_000,
    workerCacheRuns: 4,
    workerCacheMegabytes: 5,
    workerHistoryEvents: 60,
    workerHistoryMegabytes: 7,
    workerMaxLostAttempts: 9,
  };
  for (const [source, sources] of Object.entries({
    code: { code },
    file: { file },
    environment: { env },
    flag: { flags },
  })) {
    const { settings, origins } = resolved(sources);
    assert.deepEqual(settings, wanted, source);
    for (const origin of Object.values(origins)) assert.equal(origin.source, source, origin.name);
  }
});

test("a boolean opens or closes the HTTP server, an object opens it, and a later source closes it again", () => {
  assert.equal(resolved({ code: { http: true } }).settings.http, true);
  assert.equal(resolved({ code: { http: {} } }).settings.http, true);
  assert.equal(resolved({ code: { http: { port: 1 } }, env: { LIMPET_HTTP: "off" } }).settings.http, false);
  assert.equal(resolved({ code: { http: true }, flags: { http: false } }).settings.http, false);
  assert.equal(resolved({ env: { LIMPET_HTTP_PORT: "8000" } }).settings.http, false, "a port alone opens nothing");
});

test("undefined in code, a key without a value in the file and an empty variable mean: not set", () => {
  const file = yaml("store:\nhttp:\n  port:\n# nothing else\n");
  const { settings } = resolved({ code: { store: undefined }, file, env: { LIMPET_STORE: "" } });
  assert.equal(settings.store, ".limpet/limpet.db");
  assert.equal(settings.httpPort, 7300);
  for (const text of ["", "# only a comment\n", "---\n", "null\n"]) {
    assert.equal(resolved({ file: yaml(text) }).settings.store, ".limpet/limpet.db", JSON.stringify(text));
  }
});

test("limpet.yaml is found in the folder, LIMPET_CONFIG names another, and a requested file must exist", () => {
  const cwd = mkdtempSync(join(folder, "cwd-"));
  assert.equal(resolveWithOrigins({ env: {}, cwd }).file, undefined);
  writeFileSync(join(cwd, "limpet.yaml"), "namespace: found\n");
  writeFileSync(join(cwd, "other.yaml"), "namespace: other\n");
  assert.equal(resolveSettings({ env: {}, cwd }).namespace, "found");
  assert.equal(resolveSettings({ env: { LIMPET_CONFIG: "other.yaml" }, cwd }).namespace, "other");
  const asked = resolveWithOrigins({ env: { LIMPET_CONFIG: "missing.yaml" }, file: "other.yaml", cwd });
  assert.equal(asked.settings.namespace, "other");
  assert.equal(asked.file, "other.yaml");
  assert.equal(resolveSettings({ env: {}, file: false, cwd }).namespace, "default");
  assert.equal(refused({ file: "gone.yaml", cwd }), "the configuration file gone.yaml does not exist");
  assert.match(refused({ file: ".", cwd }), /cannot be read \(EISDIR\)/);
  writeFileSync(join(cwd, "limpet.yml"), "namespace: twice\n");
  assert.match(refused({ file: undefined, env: {}, cwd }), /both limpet\.yaml and limpet\.yml; keep one/);
});

test("a wrong value is rejected with its source, its name, itself and the allowed values", () => {
  const file = yaml("store: a.db\nhttp:\n  port: 70000\n");
  assert.equal(refused({ file }), `http.port (${file}:3): 70000 is out of range; allowed is 0 to 65535`);
  assert.equal(
    refused({ env: { LIMPET_HTTP_PORT: "http" } }),
    'LIMPET_HTTP_PORT (environment): "http" is not a whole number; allowed is 0 to 65535',
  );
  assert.equal(refused({ flags: { port: "-1" } }), '--port: "-1" is not a whole number; allowed is 0 to 65535');
  assert.equal(refused({ flags: { port: "" } }), '--port: "" is not a whole number; allowed is 0 to 65535');
  assert.equal(
    refused({ code: { http: { port: 1.5 } } }),
    "http.port (code): 1.5 is not a whole number; allowed is 0 to 65535",
  );
  assert.equal(
    refused({ code: { mailboxLimit: 0 } }),
    "mailboxLimit (code): 0 is out of range; allowed is 1 to 1000000",
  );
  assert.match(refused({ code: { maxResident: Number.NaN } }), /maxResident \(code\): .* is not a whole number/);
  assert.match(refused({ code: { namespace: "a/b" } }), /namespace \(code\): "a\/b" must not contain/);
  assert.match(refused({ code: { namespace: 5 as unknown as string } }), /namespace \(code\): 5 is not text/);
  assert.match(
    refused({ env: { LIMPET_HTTP: "maybe" } }),
    /LIMPET_HTTP \(environment\): "maybe" is neither yes nor no/,
  );
  assert.match(refused({ flags: { host: "http://x" } }), /^--host: "http:\/\/x" must be an address alone/);
  assert.equal(
    refused({ flags: { "log-level": "warning" } }),
    '--log-level: "warning" is not one of debug, info, warn, error, silent',
  );
  assert.match(refused({ flags: { "log-level": "debgu" } }), /did you mean "debug"\?$/);
});

test("a long value is cut in the error", () => {
  assert.ok(refused({ flags: { namespace: "/".repeat(5_000) } }).length < 300);
});

test("durations need a unit, except as milliseconds in code", () => {
  assert.equal(resolved({ code: { idleTimeout: 1_500 } }).settings.idleTimeout, 1_500);
  assert.equal(resolved({ flags: { "idle-timeout": "1h30m" } }).settings.idleTimeout, 5_400_000);
  assert.match(refused({ file: yaml("idleTimeout: 30\n") }), /:1\): 30 has no unit; write "30s" for seconds/);
  assert.match(refused({ env: { LIMPET_IDLE_TIMEOUT: "30" } }), /"30" has no unit; write 30s for seconds/);
  assert.match(
    refused({ flags: { "idle-timeout": "soon" } }),
    /^--idle-timeout: "soon" is not a duration; write for example/,
  );
  assert.match(refused({ file: yaml("idleTimeout: [1s]\n") }), /is not a duration/);
  assert.match(
    refused({ code: { idleTimeout: "999ms" } }),
    /idleTimeout \(code\): "999ms" is too short; allowed is 1s/,
  );
  assert.match(refused({ code: { drainTimeout: 0 } }), /drainTimeout \(code\): 0 is too short; allowed is 1ms/);
  assert.match(refused({ code: { callTimeout: -1 } }), /is not a duration/);
  assert.match(refused({ code: { callTimeout: Number.POSITIVE_INFINITY } }), /is not a duration/);
});

test("unknown names are rejected, and the nearest known one is suggested", () => {
  const file = yaml("store: a.db\nidle_timeout: 5m\n");
  assert.equal(refused({ file }), `idle_timeout (${file}:2): there is no such setting; did you mean "idleTimeout"?`);
  assert.match(refused({ file: yaml("http:\n  prot: 80\n") }), /^http\.prot \(.*:2\): .* did you mean "http\.port"\?/);
  assert.match(refused({ file: yaml("httpPort: 80\n") }), /did you mean "http\.port"\?/);
  assert.match(refused({ file: yaml("port: 80\n") }), /did you mean "http\.port"\?/);
  assert.match(refused({ file: yaml("kubernetes: yes\n") }), /no such setting; known are namespace, store, http, /);
  const misspelt = { idleTimout: "5m" } as LimpetSettings;
  assert.match(refused({ code: misspelt }), /^idleTimout \(code\): .* did you mean "idleTimeout"\?/);
  assert.match(refused({ code: JSON.parse('{"__proto__": 1}') }), /no such setting/);
});

test("a file that is not YAML, or not settings, is rejected with its line", () => {
  assert.match(refused({ file: yaml("store: a\n  b: c\n") }), /:\d+: not valid YAML: /);
  assert.match(refused({ file: yaml("store: a\nstore: b\n") }), /:2: not valid YAML: .*unique/);
  assert.match(refused({ file: yaml("- store\n") }), /must hold settings as "name: value" lines/);
  assert.match(refused({ file: yaml("just text\n") }), /must hold settings/);
  assert.match(refused({ file: yaml("1: a\n") }), /^1 \(.*:1\): there is no such setting/);
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [${"*a,".repeat(9)}]\nc: &c [${"*b,".repeat(9)}]\nd: [${"*c,".repeat(9)}]\n`;
  assert.match(refused({ file: yaml(bomb) }), /alias/i);
});

test("a secret never appears in an error", () => {
  const secret = "hunter2 is my token";
  for (const sources of [
    { env: { LIMPET_HTTP_TOKENS: secret } },
    { flags: { token: [secret] } },
    { code: { http: { tokens: [secret] } } },
    { file: yaml(`http:\n  tokens: ["${secret}"]\n`) },
    { file: yaml(`http:\n  tokens: { x: "${secret}" }\n`) },
    { env: { LIMPET_CLUSTER_KEYS: secret } },
    { flags: { "cluster-key": ["hunter2"] } },
    { flags: { store: `postgres://u:${secret}@host:bad/x` } },
  ]) {
    const message = refused(sources);
    assert.doesNotMatch(message, /hunter2/);
    assert.match(message, /hidden|…/);
  }
  assert.match(refused({ env: { LIMPET_HTTP_TOKENS: "a,,b" } }), /empty item/);
});

test("a list keeps each item once", () => {
  assert.deepEqual(resolved({ flags: { token: ["a", "b", "a"] } }).settings.httpTokens, ["a", "b"]);
});

test("a list flag may be repeated, or hold several items at once", () => {
  const one = resolved({ flags: { schedulers: ["127.0.0.1:1, 127.0.0.1:2", "127.0.0.1:3"] } });
  assert.deepEqual(one.settings.schedulers, ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]);
  assert.match(refused({ flags: { schedulers: ["127.0.0.1:1,"] } }), /^--schedulers: "" has an empty item/);
});

test("a value that a later source overrides is still checked", () => {
  assert.match(refused({ env: { LIMPET_HTTP_PORT: "x" }, flags: { port: "1" } }), /LIMPET_HTTP_PORT/);
});

test("the name of a build is a text that every store keeps unchanged", () => {
  assert.match(
    refused({ code: { worker: { build: "a\0b" } } }),
    /^worker\.build .* must not contain control characters/,
  );
  assert.match(refused({ code: { worker: { compatibleBuilds: ["a", "x".repeat(10_000)] } } }), /at most \d+ bytes/);
});
