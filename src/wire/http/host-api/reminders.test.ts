import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { LimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import type { DeadReminderSummary, ReminderSummary } from "../../../ports/reminder-admin.ts";
import { scheduleFromWire, type WireSchedule } from "../../../reminders/schedule/wire-formats.ts";
import { EXACT_TYPE } from "../../exact.ts";
import { errorCode, FakeHost, openTestServer } from "../server-kit.test.ts";

const NAMES = { type: "Cart", id: "ali ce", name: "pay|up" };
const PATH = "/v1.0/actors/Cart/ali%20ce/reminders/pay%7Cup";

async function open(t: TestContext) {
  const host = new FakeHost();
  const { reminders } = host;
  const { url } = await openTestServer(t, host);
  const send = async (method: string, path: string, body?: string, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, { method, headers, ...(body !== undefined && { body }) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, json: text === "" ? undefined : JSON.parse(text) };
  };
  const code = async (...asked: Parameters<typeof send>) => {
    const { status, json } = await send(...asked);
    return [status, errorCode(json)];
  };
  return { url, reminders, send, code };
}

const NOTHING = { dueTime: null, period: null, ttl: null, data: undefined, onFailure: undefined, isNew: false };

test("a reminder is set by its names, with POST as with PUT", async (t) => {
  const { reminders, code } = await open(t);
  const body = '{"dueTime":"10s","period":"R3/PT1M","ttl":"1h","data":{"cup":[1,null]},"overwrite":true}';
  assert.deepEqual(await code("POST", PATH, body), [204, undefined]);
  assert.deepEqual(await code("PUT", PATH, '{"period":"1m"}'), [204, undefined]);
  const request = { dueTime: "10s", period: "R3/PT1M", ttl: "1h", data: { cup: [1, null] } };
  assert.deepEqual(reminders.asked, [
    ["set", NAMES, { ...NOTHING, ...request }],
    ["set", NAMES, { ...NOTHING, period: "1m" }],
  ]);
});

test("an existing reminder stays when overwrite is false, and its caller is notified", async (t) => {
  const { reminders, send, code } = await open(t);
  const body = '{"dueTime":"1s","overwrite":false}';
  assert.deepEqual(await code("POST", PATH, body), [204, undefined]);
  reminders.isSet = false;
  const { status, json } = await send("POST", PATH, body);
  assert.equal(status, 409);
  const message = 'Cart/ali ce has a reminder "pay|up", and overwrite is false';
  assert.deepEqual(json, { errorCode: "REMINDER_EXISTS", message, retry: "never" });
  assert.ok(reminders.asked.every(([, , request]) => (request as { isNew: boolean }).isNew));
});

test("null and false count as data, and fields that are null count as absent", async (t) => {
  const { reminders, code } = await open(t);
  const body = '{"dueTime":"0s","period":null,"ttl":null,"overwrite":null,"failure_policy":null,"data":null}';
  assert.deepEqual(await code("POST", PATH, body), [204, undefined]);
  assert.deepEqual(await code("POST", PATH, '{"dueTime":"0s","data":false}'), [204, undefined]);
  assert.deepEqual(
    reminders.asked.map(([, , request]) => request),
    [
      { ...NOTHING, dueTime: "0s", data: null },
      { ...NOTHING, dueTime: "0s", data: false },
    ],
  );
});

test("data may arrive in the exact encoding, and is returned in it on request", async (t) => {
  const { reminders, url, code, send } = await open(t);
  const body = '{"dueTime":"1s","data":{"$":"date","v":5}}';
  assert.deepEqual(await code("POST", PATH, body, { "content-type": EXACT_TYPE }), [204, undefined]);
  assert.deepEqual(reminders.asked[0]![2], { ...NOTHING, dueTime: "1s", data: new Date(5) });
  // In plain JSON the same value is an ordinary object.
  await code("POST", PATH, body);
  assert.deepEqual((reminders.asked[1]![2] as { data: unknown }).data, { $: "date", v: 5 });
  reminders.found = { dueTime: "2030-01-01T00:00:00.000Z", data: new Date(5) };
  const response = await fetch(url + PATH, { headers: { accept: EXACT_TYPE } });
  assert.equal(response.headers.get("content-type"), EXACT_TYPE);
  const whole = { actorType: "Cart", actorID: "ali ce", name: "pay|up", dueTime: "2030-01-01T00:00:00.000Z" };
  assert.deepEqual(await response.json(), { ...whole, data: { $: "date", v: 5 } });
  assert.deepEqual((await send("GET", PATH)).json, { ...whole, data: "1970-01-01T00:00:00.005Z" });
});

test("a reminder is shown with its fields, and 404 when there is none", async (t) => {
  const { reminders, send, code } = await open(t);
  assert.deepEqual(await code("GET", PATH), [404, "REMINDER_UNKNOWN"]);
  const dueTime = "2030-01-01T00:00:00.000Z";
  const named = { actorType: "Cart", actorID: "ali ce", name: "pay|up", dueTime };
  reminders.found = { dueTime, data: undefined };
  const { status, headers, json } = await send("GET", PATH);
  assert.deepEqual([status, json], [200, named]);
  assert.match(headers.get("content-type")!, /^application\/json/);
  const rest = { period: "@every 1m0s", ttl: "2031-01-01T00:00:00.000Z", data: null };
  reminders.found = { dueTime, ...rest };
  assert.deepEqual((await send("GET", PATH)).json, { ...named, ...rest });
});

test("data as deep as the limit is shown, in each encoding", async (t) => {
  const { reminders, send } = await open(t);
  let data: unknown = 1;
  for (let depth = 0; depth < LIMITS.valueDepth; depth++) data = [data];
  reminders.found = { dueTime: "2030-01-01T00:00:00.000Z", data };
  for (const accept of ["application/json", EXACT_TYPE]) {
    const { status, json } = await send("GET", PATH, undefined, { accept });
    assert.deepEqual([status, json.data], [200, data], accept);
  }
});

test("a reminder may be cancelled repeatedly", async (t) => {
  const { reminders, code } = await open(t);
  assert.deepEqual(await code("DELETE", PATH), [204, undefined]);
  assert.deepEqual(await code("DELETE", PATH), [204, undefined]);
  assert.deepEqual(reminders.asked, [
    ["cancel", NAMES],
    ["cancel", NAMES],
  ]);
});

test("a failure policy has one of two forms", async (t) => {
  const { reminders, code } = await open(t);
  const policies: [string, unknown][] = [
    ['{"drop":{}}', { attempts: 1, giveUp: "drop" }],
    [
      '{"constant":{"interval":"10s","max_retries":3}}',
      { attempts: 4, pause: 10_000, longestPause: 10_000, giveUp: "drop" },
    ],
    ['{"constant":{"maxRetries":0}}', { attempts: 1, pause: 1_000, longestPause: 1_000, giveUp: "drop" }],
    [
      '{"constant":{"max_retries":null,"interval":"1m30s"}}',
      { attempts: Number.MAX_SAFE_INTEGER, pause: 90_000, longestPause: 90_000, giveUp: "drop" },
    ],
    [
      '{"constant":{"interval":"PT10S","max_retries":0}}',
      { attempts: 1, pause: 10_000, longestPause: 10_000, giveUp: "drop" },
    ],
    ['{"constant":{"interval":"500us","max_retries":0}}', { attempts: 1, pause: 1, longestPause: 1, giveUp: "drop" }],
  ];
  for (const [policy, expected] of policies) {
    assert.deepEqual(await code("POST", PATH, `{"dueTime":"1s","failure_policy":${policy}}`), [204, undefined], policy);
    assert.deepEqual((reminders.asked.pop()![2] as { onFailure: unknown }).onFailure, expected, policy);
  }
  for (const policy of [
    '"drop"',
    "{}",
    '{"drop":true}',
    '{"drop":{},"constant":{}}',
    '{"exponential":{}}',
    '{"constant":{"interval":"soon"}}',
    '{"constant":{"interval":5}}',
    '{"constant":{"interval":"R2/PT1S"}}',
    '{"constant":{"interval":"-1s"}}',
    `{"constant":{"interval":"${"9".repeat(1_000_000)}s"}}`,
    '{"constant":{"max_retries":-1}}',
    '{"constant":{"max_retries":1.5}}',
    '{"constant":{"max_retries":"3"}}',
  ]) {
    const asked = await code("POST", PATH, `{"dueTime":"1s","failure_policy":${policy}}`);
    assert.deepEqual(asked, [400, "REMINDER_INVALID"], policy.slice(0, 60));
  }
  for (const policy of ['{"drop":{"now":true}}', '{"constant":{"retries":1}}']) {
    const asked = await code("POST", PATH, `{"dueTime":"1s","failure_policy":${policy}}`);
    assert.deepEqual(asked, [400, "BODY_INVALID"], policy);
  }
  assert.deepEqual(reminders.asked, []);
});

test("the body of Python's register_reminder is accepted, and unknown fields are ignored", async (t) => {
  const { reminders, code } = await open(t);
  // As version 1.14 of the dapr package writes it.
  const python = '{"reminderName":"pay","dueTime":"0h0m5s0ms0\u03bcs","period":"0h1m0s0ms0\u03bcs","data":"dGVh"}';
  assert.deepEqual(await code("PUT", PATH, python), [204, undefined]);
  const [, , request] = reminders.asked.pop()!;
  const { dueTime, period, ttl, data, isNew } = request as Record<string, unknown>;
  assert.deepEqual([data, isNew, ttl], ["dGVh", false, null]);
  const { first, every } = scheduleFromWire({ dueTime, period } as WireSchedule, 0);
  assert.deepEqual([first, every?.ms], [5_000, 60_000]);
  assert.deepEqual(await code("POST", PATH, '{"dueTime":"1s","__proto__":{"period":"1s"},"callback":"x"}'), [
    204,
    undefined,
  ]);
  assert.equal((reminders.asked.pop()![2] as { period: unknown }).period, null);
});

test("any other body is rejected, and no reminder is set", async (t) => {
  const { reminders, code } = await open(t);
  for (const body of [
    "",
    "{",
    "null",
    '"10s"',
    "[]",
    '[{"dueTime":"1s"}]',
    '{"dueTime":"1s","overwrite":"false"}',
    '{"dueTime":"1s","overwrite":0}',
    `{"dueTime":"1s","data":${"[".repeat(500)}${"]".repeat(500)}}`,
  ]) {
    assert.deepEqual(await code("POST", PATH, body), [400, "BODY_INVALID"], body.slice(0, 60));
  }
  const large = JSON.stringify({ dueTime: "1s", data: "x".repeat(LIMITS.callBytes) });
  assert.deepEqual(await code("POST", PATH, large), [413, "BODY_TOO_LARGE"]);
  assert.deepEqual(reminders.asked, []);
});

test("an error of the reminders is answered with its code", async (t) => {
  const { reminders, code } = await open(t);
  reminders.set = () => Promise.reject(new LimpetError("REMINDER_INVALID", 'dueTime: "soon" is not a duration'));
  assert.deepEqual(await code("POST", PATH, '{"dueTime":"soon"}'), [400, "REMINDER_INVALID"]);
  reminders.set = () => Promise.reject(new LimpetError("REMINDER_NOT_HOSTED", "there is no Cart"));
  assert.deepEqual(await code("POST", PATH, '{"dueTime":"1s"}'), [403, "REMINDER_NOT_HOSTED"]);
  reminders.cancel = () => Promise.reject(new LimpetError("STORE_UNAVAILABLE", "it does not answer"));
  assert.deepEqual(await code("DELETE", PATH), [503, "STORE_UNAVAILABLE"]);
});

const some = (name: string): ReminderSummary => ({
  ...NAMES,
  name,
  next: 5_000,
  due: 4_000,
  number: 3,
  attempt: 1,
  leasedUntil: undefined,
  overdue: false,
  schedule: "every 1m",
  bytes: 12,
});

test("reminders are listed page by page, and dead ones separately", async (t) => {
  const { reminders, send } = await open(t);
  reminders.reminders = ["ä", "b", "c"].map(some);
  const dead: DeadReminderSummary = {
    ...NAMES,
    due: 1,
    number: 1,
    attempt: 10,
    error: "TypeError: tea",
    diedAt: 2,
    schedule: "once",
    bytes: 0,
  };
  reminders.dead = [dead];
  const path = "/v1.0/inspect/reminders";
  const first = (await send("GET", `${path}?limit=2&type=Cart`)).json as { reminders: unknown[]; next: string };
  const { leasedUntil, ...shown } = some("ä");
  assert.equal(leasedUntil, undefined);
  assert.deepEqual(first, { now: 1_000, reminders: [shown, { ...shown, name: "b" }], next: first.next });
  const second = await send("GET", `${path}?limit=2&type=Cart&after=${first.next}`);
  assert.deepEqual(second.json, { now: 1_000, reminders: [{ ...shown, name: "c" }] });
  assert.deepEqual((await send("GET", `${path}/dead?id=ali+ce`)).json, { now: 1_000, reminders: [dead] });
  assert.deepEqual(reminders.asked, [
    ["list", { type: "Cart", id: undefined, after: undefined, limit: 2 }],
    ["list", { type: "Cart", id: undefined, after: { ...NAMES, name: "b" }, limit: 2 }],
    ["listDead", { type: undefined, id: "ali ce", after: undefined, limit: 100 }],
  ]);
  reminders.counts = { all: 3, overdue: 1, dead: 1 };
  assert.deepEqual((await send("GET", `${path}/counts`)).json, { all: 3, overdue: 1, dead: 1 });
});

test("a dead reminder is retried or dropped by its names; an unknown one is 404", async (t) => {
  const { reminders, code, send } = await open(t);
  const body = JSON.stringify(NAMES);
  for (const act of ["retry", "drop"]) {
    const path = `/v1.0/control/reminders/${act}`;
    assert.deepEqual(await code("POST", path, body), [204, undefined]);
    assert.deepEqual(reminders.asked.pop(), [act, NAMES]);
    for (const bad of ["", "null", '{"type":"Cart","id":"a"}', '{"type":"Cart","id":"a","name":"","x":1}', "[]"]) {
      assert.deepEqual(await code("POST", path, bad), [400, "BODY_INVALID"], bad);
    }
    assert.deepEqual(await code("POST", path, '{"type":"Cart","id":"a","name":"a/b"}'), [400, "NAME_INVALID"]);
    assert.deepEqual(reminders.asked, []);
    reminders.isHelped = false;
    assert.deepEqual(await code("POST", path, body), [404, "REMINDER_UNKNOWN"]);
    reminders.isHelped = true;
    reminders.asked.length = 0;
  }
  reminders.isHelped = false;
  const { json } = await send("POST", "/v1.0/control/reminders/retry", body);
  assert.match((json as { message: string }).message, /or one of that name was set meanwhile$/);
});

test("a client without access may neither set reminders nor read them", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host, { settings: { tokens: ["secret-secret-secret"] } });
  const foreign = { "sec-fetch-site": "cross-site", authorization: "Bearer secret-secret-secret" };
  const init = { method: "POST", body: '{"dueTime":"0s"}' };
  assert.equal((await fetch(url + PATH, init)).status, 401);
  assert.equal((await fetch(url + PATH, { ...init, headers: foreign })).status, 403);
  assert.equal((await fetch(url + PATH, { method: "DELETE" })).status, 401);
  for (const path of ["inspect/reminders", "inspect/reminders/dead", "inspect/reminders/counts"]) {
    assert.equal((await fetch(`${url}/v1.0/${path}`)).status, 401, path);
  }
  const drop = { method: "POST", body: JSON.stringify(NAMES) };
  assert.equal((await fetch(`${url}/v1.0/control/reminders/drop`, drop)).status, 401);
  assert.deepEqual(host.reminders.asked, []);
});
