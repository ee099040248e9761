import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import { checkBodyParts, measureBody } from "./body-weight.ts";

const measure = (json: string) => measureBody(Buffer.from(json));
const properties = (count: number, name: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => `${JSON.stringify(name(i))}:${i}`).join(",");

test("the parts of a body are its objects, lists and properties, and no text adds to them", () => {
  assert.equal(measure('{"a":[1,2,{"b":"{\\"c\\":[]}"}], "d" : null}').parts, 6);
  assert.equal(measure('"{\\"a\\":1}"').parts, 0);
});

test("property names count once each, including names with escapes or trailing spaces", () => {
  const rows = Array.from({ length: 3_000 }, (_, i) => `{"a" :${i},"b\\"":"a${i}:"}`);
  assert.equal(measure(`[${rows}]`).names, 2);
  // A few of the names may share a hash.
  const { names } = measure(`{${properties(20_000, (i) => `name ${i}`)}}`);
  assert.ok(names <= 20_000 && names > 19_500, String(names));
});

test("a body is rejected by the number of its parts or names, and a list of as many items is accepted", () => {
  const fine = { weight: 0, parts: LIMITS.httpBodyParts, names: LIMITS.httpBodyNames };
  checkBodyParts(fine);
  const code = "BODY_TOO_LARGE";
  assert.throws(() => checkBodyParts({ ...fine, parts: fine.parts + 1 }), { code, message: /1000001 objects, lists/ });
  assert.throws(() => checkBodyParts({ ...fine, names: fine.names + 1 }), { code, message: /100001 different names/ });
  checkBodyParts(measure(`[[${Array(LIMITS.httpBodyParts + 10).fill(0)}]]`));
});
