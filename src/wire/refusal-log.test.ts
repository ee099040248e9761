import assert from "node:assert/strict";
import { test } from "node:test";
import { type LogFields, silentLog } from "../ports/log.ts";
import { RefusalLog } from "./refusal-log.ts";

test("a thousand rejected connections in a second write one log line, and the next line counts them", () => {
  const lines: (LogFields | undefined)[] = [];
  const log = { ...silentLog, warn: (_event: string, fields?: LogFields) => void lines.push(fields) };
  const refusals = new RefusalLog(log, "link.refused");
  for (let i = 0; i < 1_000; i++) refusals.refused({ peer: "a", number: i }, i);
  assert.deepEqual(lines, [{ peer: "a", number: 0 }]);
  refusals.refused({ peer: "b" }, 10_000);
  refusals.refused({ peer: "c" }, 20_000);
  assert.deepEqual(lines.slice(1), [{ peer: "b", leftOut: 999 }, { peer: "c" }]);
});
