import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { describeBroken, refuseBroken } from "./broken-requests.ts";

const LIMITS = { headerBytes: 16_384, lingerMs: 1 };

test("errors of the HTTP parser become Limpet errors", () => {
  const code = (given: string | undefined) => describeBroken(given, LIMITS.headerBytes).code;
  assert.equal(code("HPE_HEADER_OVERFLOW"), "HEADERS_TOO_LARGE");
  assert.equal(code("ERR_HTTP_REQUEST_TIMEOUT"), "REQUEST_TIMEOUT");
  assert.equal(code("HPE_CHUNK_EXTENSIONS_OVERFLOW"), "BODY_TOO_LARGE");
  assert.equal(code("HPE_INVALID_METHOD"), "REQUEST_INVALID");
  assert.equal(code(undefined), "REQUEST_INVALID");
});

test("further garbage does not cut the final answer short", () => {
  const socket = {
    writableEnded: true,
    destroy: () => assert.fail("destroyed"),
    end: () => assert.fail("answered twice"),
  };
  assert.equal(refuseBroken(new TypeError("garbage"), socket as unknown as Socket, [], LIMITS), undefined);
});

test("a connection that broke is only cleaned up", () => {
  let destroyed = false;
  const socket = { writableEnded: false, writable: true, destroy: () => (destroyed = true), end: () => assert.fail() };
  const reset = Object.assign(new TypeError("reset"), { code: "ECONNRESET" });
  assert.equal(refuseBroken(reset, socket as unknown as Socket, [], LIMITS), undefined);
  assert.ok(destroyed);
});
