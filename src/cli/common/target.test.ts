import assert from "node:assert/strict";
import { test } from "node:test";
import { tempFolder } from "../../../test/support/cli.ts";
import { EXIT, Failure } from "./failure.ts";
import { resolveTarget, shownUrl } from "./target.ts";

const target = (flags: Record<string, string>, env: Record<string, string> = {}, cwd = "/nonexistent") =>
  resolveTarget({ flags, env, cwd });

function refused(flags: Record<string, string>, env: Record<string, string> = {}): string {
  try {
    target(flags, env);
  } catch (error) {
    assert.ok(error instanceof Failure);
    assert.equal(error.exitCode, EXIT.usage);
    return error.message;
  }
  return assert.fail("nothing was refused");
}

test("a flag outweighs LIMPET_URL, which outweighs the default", () => {
  assert.equal(shownUrl(target({}).url), "http://127.0.0.1:7300");
  assert.equal(shownUrl(target({}, { LIMPET_URL: "http://a:1" }).url), "http://a:1");
  assert.equal(shownUrl(target({ url: "https://b/base/" }, { LIMPET_URL: "http://a:1" }).url), "https://b/base");
  assert.equal(shownUrl(target({ url: "localhost:8000" }).url), "http://localhost:8000");
});

test("the target without a URL is the process of the local settings, with one of its tokens", () => {
  using folder = tempFolder();
  folder.write("limpet.yaml", "http:\n  host: 0.0.0.0\n  port: 8123\n  tokens: [one, two]\n");
  const found = target({}, {}, folder.path);
  assert.equal(shownUrl(found.url), "http://127.0.0.1:8123");
  assert.equal(found.token, "one");
  assert.equal(target({}, { LIMPET_TOKEN: "mine" }, folder.path).token, "mine");
  assert.equal(target({ url: "http://else.where" }, {}, folder.path).token, undefined, "a stranger is not told");
});

test("a file in this folder cannot send a token to another machine that it was not given for", () => {
  using folder = tempFolder();
  folder.write("limpet.yaml", "http:\n  host: 10.0.0.66\n  tokens: [its-own]\n");
  for (const [flags, env] of [
    [{}, { LIMPET_TOKEN: "mine" }],
    [{ token: "mine" }, {}],
  ] as const) {
    assert.throws(
      () => target(flags, env, folder.path),
      /http\.host \(limpet\.yaml:2\) names 10\.0\.0\.66, and the token was not given for that address; name it with --url/,
    );
  }
  assert.equal(target({}, {}, folder.path).token, "its-own");
  assert.equal(target({}, { LIMPET_HTTP_TOKENS: "ours" }, folder.path).token, undefined);
  const asked = target({ url: "http://10.0.0.66:7300" }, { LIMPET_TOKEN: "mine" }, folder.path);
  assert.equal(asked.token, "mine");
});

test("an invalid address, token or timeout is rejected without repeating secrets", () => {
  assert.match(refused({ url: "ftp://x" }), /^--url: "ftp:\/\/x" is not a URL; write for example/);
  assert.match(refused({}, { LIMPET_URL: "http://" }), /^LIMPET_URL: /);
  assert.doesNotMatch(refused({ url: "http://u:hunter2@x" }), /hunter2/);
  assert.doesNotMatch(refused({ token: "hunter2 x" }), /hunter2/);
  assert.match(refused({ timeout: "soon" }), /^--timeout: "soon" is not a duration/);
  assert.match(refused({ timeout: "0s" }), /longer than 0/);
});
