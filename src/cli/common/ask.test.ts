import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { runCli } from "../../../test/support/cli.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** A process with scripted answers. */
async function answering(handler: Handler): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += String(chunk);
    });
    request.on("end", () => handler(request, response, body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("a call sends encoded names, unchanged arguments, the token and the timeout", async () => {
  let seen: { url: string | undefined; body: string; token: string | undefined; timeout: unknown } | undefined;
  await using server = await answering((request, response, body) => {
    const { authorization, "limpet-timeout": timeout } = request.headers;
    seen = { url: request.url, body, token: authorization, timeout };
    response.end("12345678901234567890");
  });
  const argv = ["call", "Cart", "a%b||ü", "add", "-1.50", '{"a": 9007199254740993}', "--timeout", "1500ms"];
  const outcome = await runCli([...argv, "--url", server.url], { env: { LIMPET_TOKEN: "secret" } });
  assert.deepEqual(outcome, { code: 0, stdout: "12345678901234567890\n", stderr: "" });
  assert.deepEqual(seen, {
    url: "/v1.0/actors/Cart/a%25b%7C%7C%C3%BC/method/add",
    body: '[-1.50,{"a": 9007199254740993}]',
    token: "Bearer secret",
    timeout: "1500ms",
  });
});

test("a result is indented on a terminal; a missing result is empty output, and null for programs", async () => {
  await using server = await answering((request, response) => {
    if (request.url?.endsWith("/void")) response.writeHead(204).end();
    else if (request.url?.endsWith("/nothing")) response.end("null");
    else response.end('{"a":1}');
  });
  const call = (method: string, ...rest: string[]) => ["call", "Cart", "a", method, "--url", server.url, ...rest];
  assert.equal((await runCli(call("get"), { tty: true })).stdout, '{\n  "a": 1\n}\n');
  assert.equal((await runCli(call("get"))).stdout, '{"a":1}\n');
  for (const method of ["void", "nothing"]) {
    assert.equal((await runCli(call(method))).stdout, "");
    assert.equal((await runCli(call(method, "--json"))).stdout, "null\n");
  }
});

test("an error of the process is passed on with its code and a hint", async () => {
  const answers: Record<string, [number, object]> = {
    thrown: [500, { errorCode: "ACTOR_FAILED", message: "no good", error: { name: "TypeError" } }],
    token: [401, { errorCode: "UNAUTHENTICATED", message: "send a valid token" }],
    away: [503, { errorCode: "OWNER_AWAY", message: "its host is away" }],
    future: [418, { errorCode: "FROM_THE_FUTURE", message: "something new" }],
  };
  await using server = await answering((request, response) => {
    const [status, body] = answers[request.url?.split("/").at(-1) ?? ""] ?? [404, {}];
    response.writeHead(status).end(JSON.stringify(body));
  });
  const call = (method: string, ...rest: string[]) =>
    runCli(["call", "Cart", "a", method, "--url", server.url, ...rest]);
  const thrown = await call("thrown");
  assert.deepEqual(thrown, { code: 1, stdout: "", stderr: "limpet: thrown of Cart a threw TypeError: no good\n" });
  const token = await call("token");
  assert.equal(token.code, 1);
  assert.match(token.stderr, /limpet: send a valid token\n {8}This process requires a token: set LIMPET_TOKEN/);
  assert.match(
    (await call("away")).stderr,
    /limpet: its host is away\n {8}Nothing happened\. limpet sticky <type> <id> /,
  );
  const future = await call("future", "--json");
  assert.deepEqual(JSON.parse(future.stderr), { errorCode: "FROM_THE_FUTURE", message: "something new" });
});

test("another program on the port is distinguished from limpet", async () => {
  await using server = await answering((request, response) => {
    if (request.url?.includes("/method/")) response.writeHead(404).end("<html>not here</html>");
    else response.end("<html>hello</html>");
  });
  const asking = [
    ["call", "Cart", "a", "b"],
    ["actors"],
    ["explain", "Cart", "a"],
    ["ps"],
    ["where", "Cart", "a"],
    ["sticky"],
    ["sticky", "Cart"],
    ["sticky", "Cart", "a", "--release"],
  ];
  for (const argv of asking) {
    const { code, stderr } = await runCli([...argv, "--url", server.url]);
    assert.equal(code, 1, argv[0]);
    assert.match(stderr, /is not limpet/, argv[0]);
  }
});

test("a silent process ends in a timeout, and a missing listener is reported at once", async () => {
  await using server = await answering(() => {});
  const late = await runCli(["call", "Cart", "a", "b", "--timeout", "20ms", "--url", server.url, "--json"]);
  assert.equal(late.code, 1);
  assert.equal(JSON.parse(late.stderr).errorCode, "CALL_TIMEOUT");
  await server[Symbol.asyncDispose]();
  const nobody = await runCli(["call", "Cart", "a", "b", "--url", server.url]);
  assert.equal(nobody.code, 1);
  assert.match(nobody.stderr, /no process listens at .*\n {8}Start it with: limpet dev app\.ts/);
});

test("a listing follows the pages up to its limit, and reports when there is more", async () => {
  const asked: string[] = [];
  const actor = (id: string) => ({ type: "Cart", id, active: id === "a", waiting: 0, version: 3, bytes: 2048 });
  await using server = await answering((request, response) => {
    asked.push(String(request.url));
    const after = new URL(String(request.url), "http://x").searchParams.get("after");
    const page = after === null ? { actors: [actor("a")], next: "p2" } : { actors: [actor("b\u202e")] };
    response.end(JSON.stringify(page));
  });
  const list = (...rest: string[]) => runCli(["actors", "--url", server.url, ...rest]);
  assert.equal(
    (await list()).stdout,
    "TYPE  ID  IN MEMORY  WAITING  VERSION     SIZE\nCart  a   yes              -        3  2.0 KiB\nCart  b\\u202e  -                -        3  2.0 KiB\n",
  );
  const some = await list("--limit", "1");
  assert.match(some.stderr, /Only the first 1 are shown; --all shows all/);
  const all = JSON.parse((await list("--all", "--json", "--type", "Cart", "--prefix", "a b", "--active")).stdout);
  assert.deepEqual(
    all.actors.map(({ id }: { id: string }) => id),
    ["a", "b\u202e"],
  );
  assert.equal(asked.at(-1), "/v1.0/inspect/actors?limit=1000&type=Cart&prefix=a+b&active=true&after=p2");
  assert.equal(JSON.parse((await list("--limit", "1", "--json")).stdout).next, "p2");
});

test("an empty listing shows the next step for a new user", async () => {
  await using server = await answering((request, response) => {
    const metadata = { actors: [{ type: "Cart", count: 0 }] };
    response.end(JSON.stringify(request.url === "/v1.0/metadata" ? metadata : { actors: [] }));
  });
  const list = (...rest: string[]) => runCli(["actors", "--url", server.url, ...rest]);
  assert.match((await list()).stderr, /No actors match\. .* limpet call Cart <id> <method>/);
  assert.match((await list("--type", "Cat")).stderr, /has no type Cat; did you mean Cart\? Its types: Cart\./);
  assert.match((await list("--type", "Zebra")).stderr, /has no type Zebra\. Its types: Cart\./);
  const json = await list("--json");
  assert.deepEqual([json.stdout, json.stderr], ['{"actors":[]}\n', ""]);
});

test("limpet ps shows the cluster as tables, and unchanged JSON for programs", async () => {
  const scheduler = { address: "a:1", incarnation: "s", dedicated: false, leader: true };
  const view = { term: 2, schedulers: [scheduler], hosts: [], tables: [] };
  let asked: string | undefined;
  await using server = await answering((request, response) => {
    asked = request.url;
    response.end(JSON.stringify(view));
  });
  const table = await runCli(["ps", "--url", server.url]);
  assert.equal(table.stdout, "SCHEDULER  KIND      LEADS\na:1        embedded  term 2\n");
  assert.match(table.stderr, /There are no hosts\. Start one with: limpet dev app\.ts/);
  const json = await runCli(["ps", "--json", "--url", server.url]);
  assert.deepEqual([JSON.parse(json.stdout), json.stderr], [view, ""]);
  assert.equal(asked, "/v1.0/inspect/cluster");
});

test("limpet where requests by names, and answers in sentences or as unchanged JSON", async () => {
  const place = {
    type: "Cart",
    id: "a b",
    owner: "a:1",
    here: false,
    activeHere: false,
    why: "so",
    version: 1,
    term: 1,
  };
  let asked: string | undefined;
  await using server = await answering((request, response) => {
    asked = request.url;
    response.end(JSON.stringify(place));
  });
  const text = await runCli(["where", "Cart", "a b", "--url", server.url]);
  assert.equal(text.stdout, "Cart/a b lives on a:1.\nSo.\nTable version 1 of term 1.\n");
  assert.equal(asked, "/v1.0/inspect/where/Cart/a%20b");
  assert.deepEqual(JSON.parse((await runCli(["where", "Cart", "a b", "--json", "--url", server.url])).stdout), place);
});

test("limpet drain names the host, and an unknown host is an error with a hint", async () => {
  const bodies: string[] = [];
  await using server = await answering((request, response, body) => {
    bodies.push(`${request.method} ${request.url} ${body}`);
    if (body.includes("alpha")) response.writeHead(204).end();
    else response.writeHead(404).end(JSON.stringify({ errorCode: "HOST_UNKNOWN", message: "no host is called beta" }));
  });
  const drain = (host: string, ...rest: string[]) => runCli(["drain", host, "--url", server.url, ...rest]);
  const drained = await drain("alpha");
  assert.deepEqual(drained, {
    code: 0,
    stdout: "alpha hands over its actors. limpet ps shows how many are left.\n",
    stderr: "",
  });
  assert.deepEqual(JSON.parse((await drain("alpha", "--json")).stdout), { host: "alpha" });
  const unknown = await drain("beta");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /limpet: no host is called beta\n {8}limpet ps shows the hosts, with address and name/);
  assert.equal(bodies[0], 'POST /v1.0/control/drain {"host":"alpha"}');
});
