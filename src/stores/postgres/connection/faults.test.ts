import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { type Fault, faultOf, storeFault } from "./faults.ts";

const WHERE = "postgres://limpet@127.0.0.1:5432/shop";
const failure = (code?: string) => Object.assign(new Error("secret text of the driver"), { code, detail: "secret" });
const codeOf = (fault: Fault, use: "opening" | "harmless" | "doubtful") => storeFault(fault, use, WHERE).code;

describe("faults of PostgreSQL", () => {
  test("a commit that never reached the server is certainly not applied, for every error", () => {
    for (const code of ["ECONNREFUSED", "ENOTFOUND", "57P03", "53300", "28P01", "ECONNRESET", undefined, "XX000"]) {
      assert.equal(codeOf(faultOf(failure(code), "connect"), "doubtful"), "STORE_UNAVAILABLE", code);
    }
  });

  test("a commit that the server rolled back is certainly not applied", () => {
    for (const code of ["40001", "40P01", "55P03", "57014", "25006", "53100", "0A000"]) {
      assert.equal(codeOf(faultOf(failure(code), "statement"), "doubtful"), "STORE_UNAVAILABLE", code);
    }
  });

  test("a commit whose connection was lost, or whose error is not known to be harmless, may have been applied", () => {
    const codes = [
      undefined,
      "ECONNRESET",
      "EPIPE",
      "57P01",
      "57P02",
      "57P03",
      "08006",
      "08003",
      "08P01",
      "40003",
      "XX000",
      "58030",
    ];
    for (const code of codes) {
      const fault = faultOf(failure(code), "statement");
      assert.equal(codeOf(fault, "doubtful"), "COMMIT_UNKNOWN", code);
      assert.equal(fault.broken, true, code);
      assert.equal(codeOf(fault, "harmless"), "STORE_UNAVAILABLE", code);
    }
  });

  test("a connection is kept after an error of its statement, unless a new one may do better", () => {
    for (const code of ["40001", "40P01", "55P03", "57014", "42P01", "23505"]) {
      assert.equal(faultOf(failure(code), "statement").broken, false, code);
    }
    for (const code of ["25006", "0A000", "26000"]) {
      assert.equal(faultOf(failure(code), "statement").broken, true, code);
    }
  });

  test("a wrong setting is an error while opening and a pause afterwards", () => {
    for (const code of ["28P01", "28000", "3D000", "42501", "08P01"]) {
      assert.equal(codeOf(faultOf(failure(code), "connect"), "opening"), "OPTION_INVALID", code);
      assert.equal(codeOf(faultOf(failure(code), "connect"), "harmless"), "STORE_UNAVAILABLE", code);
    }
  });

  test("missing tables are an incompatible store, and a wrong statement is a bug", () => {
    assert.equal(codeOf(faultOf(failure("42P01"), "statement"), "doubtful"), "STORE_INCOMPATIBLE");
    assert.equal(codeOf(faultOf(failure("42601"), "statement"), "doubtful"), "INVARIANT");
  });

  test("a host with several addresses is judged by its first one", () => {
    const fault = faultOf(new AggregateError([failure("ECONNREFUSED"), failure("ENETUNREACH")]), "connect");
    assert.match(fault.text, /ECONNREFUSED/);
  });

  test("messages of the driver and the server never get into the error", () => {
    for (const code of ["ECONNREFUSED", "23505", undefined]) {
      const error = storeFault(faultOf(failure(code), "statement"), "doubtful", WHERE);
      assert.doesNotMatch(inspect(error, { depth: 5 }), /secret/);
    }
  });
});
