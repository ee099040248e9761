import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { CATALOGUE, type ErrorCode, LimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { asLimpetError, fromStatus, grpcCode, rebuildError, toStatus } from "./status.ts";

const codes = Object.keys(CATALOGUE) as ErrorCode[];

describe("error in a gRPC status", () => {
  it("every Limpet error is restored from its gRPC status", () => {
    for (const code of codes) {
      const error = fromStatus(toStatus(new LimpetError(code, "what happened")), "10.0.0.1:7400");
      assert.deepEqual([error.code, error.message], [code, "what happened"]);
    }
  });

  it("an error has the gRPC code that any client understands", () => {
    const expected: [ErrorCode, Code][] = [
      ["NOT_LEADER", Code.FailedPrecondition],
      ["PROTOCOL", Code.InvalidArgument],
      ["OPTION_INVALID", Code.InvalidArgument],
      ["UNAUTHENTICATED", Code.Unauthenticated],
      ["HOST_UNKNOWN", Code.NotFound],
      ["NOT_STICKY", Code.NotFound],
      ["OWNER_AWAY", Code.Unavailable],
      ["HOST_FULL", Code.ResourceExhausted],
      ["LINK_FULL", Code.ResourceExhausted],
      ["STOPPING", Code.Unavailable],
      ["NOT_READY", Code.Unavailable],
      ["STORE_UNAVAILABLE", Code.Unavailable],
      ["REQUEST_TIMEOUT", Code.DeadlineExceeded],
      ["INVARIANT", Code.Internal],
    ];
    for (const [code, grpc] of expected) assert.equal(grpcCode(new LimpetError(code, "")), grpc, code);
  });

  it("a long error message is cut, and an ill-formed one is repaired", () => {
    const long = toStatus(new LimpetError("PROTOCOL", "x".repeat(100_000)));
    assert.ok(long.rawMessage.length <= LIMITS.reasonBytes);
    assert.equal(toStatus(new LimpetError("PROTOCOL", "a\ud800b")).rawMessage, "a\ufffdb");
  });

  it("an error is found behind the wrapping of the library", () => {
    const ours = new LimpetError("UNREACHABLE", "no answer");
    assert.equal(fromStatus(new ConnectError("x", Code.Internal, undefined, undefined, ours), "there"), ours);
    assert.equal(fromStatus(new TypeError("x", { cause: new TypeError("y", { cause: ours }) }), "there"), ours);
  });

  it("an error of another origin becomes a LimpetError", () => {
    const from = (code: Code) => fromStatus(new ConnectError("why", code), "10.0.0.1:7400");
    assert.equal(from(Code.Unauthenticated).code, "UNAUTHENTICATED");
    assert.equal(from(Code.Unimplemented).code, "PROTOCOL");
    assert.equal(from(Code.ResourceExhausted).code, "PROTOCOL");
    assert.equal(from(Code.Unavailable).code, "UNREACHABLE");
    assert.match(from(Code.Unavailable).message, /^10.0.0.1:7400 was lost: why$/);
    assert.equal(fromStatus("odd", "there").code, "UNREACHABLE");
    // A newer process may send error codes that this one does not know.
    const unknown = new ConnectError("why", Code.Unavailable, { "limpet-code": "constructor" });
    assert.equal(fromStatus(unknown, "there").code, "UNREACHABLE");
    assert.equal(rebuildError("NEWER_ERROR", "why"), undefined);
  });

  it("an internal error reveals no details", () => {
    const error = asLimpetError(new TypeError("secret"));
    assert.equal(error.code, "INVARIANT");
    assert.ok(!error.message.includes("secret"));
    const ours = new LimpetError("NOT_LEADER", "known");
    assert.equal(asLimpetError(ours), ours);
  });
});
