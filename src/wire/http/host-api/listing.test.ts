import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { nameProblem } from "../../../kernel/names.ts";
import { formatCursor, formatReminderCursor, parseListQuery, parseReminderQuery, parseStickyQuery } from "./listing.ts";

const nothing = { type: undefined, prefix: undefined, active: undefined, after: undefined, limit: 100 };

test("empty parameters count as absent", () => {
  for (const query of ["", "&", "type=&prefix=&active=&after=&limit=", "type", "active=false"]) {
    assert.deepEqual(parseListQuery(query), nothing);
  }
});

test("a prefix may be a text that is not a valid id", () => {
  assert.equal(parseListQuery("prefix=.").prefix, ".");
  assert.equal(parseListQuery("prefix=..").prefix, "..");
});

test("an invalid query of a listing is rejected", () => {
  for (const query of [
    "limit=0",
    "limit=1001",
    "limit=1e2",
    "limit=-1",
    "active=yes",
    "colour=red",
    "type=a&type=b",
    "after=x",
    "after=W10",
    "__proto__=1",
  ]) {
    assert.throws(
      () => parseListQuery(query),
      (error) => isLimpetError(error, "ARGUMENT_INVALID"),
      query,
    );
  }
  for (const query of ["type=%2F", "type=..", "prefix=%00", "prefix=%ff", `prefix=${"a".repeat(513)}`, "type=%"]) {
    assert.throws(
      () => parseListQuery(query),
      (error) => isLimpetError(error, "NAME_INVALID"),
      query,
    );
  }
});

test("a listing of sticky actors takes the same parameters, except those that do not apply", () => {
  const { active, ...rest } = nothing;
  assert.equal(active, undefined);
  assert.deepEqual(parseStickyQuery(""), rest);
  const after = { type: "Cart", id: "b" };
  const query = `type=Cart&prefix=a%2Bb+c&limit=1000&after=${formatCursor(after)}`;
  assert.deepEqual(parseStickyQuery(query), { type: "Cart", prefix: "a+b c", limit: 1_000, after });
  for (const query of ["active=true", "active=", "id=a", "limit=0", "limit=1001", "after=x", "type=a&type=b"]) {
    assert.throws(
      () => parseStickyQuery(query),
      (error) => isLimpetError(error, "ARGUMENT_INVALID"),
      query,
    );
  }
  for (const query of ["type=%2F", "prefix=%00"]) {
    assert.throws(
      () => parseStickyQuery(query),
      (error) => isLimpetError(error, "NAME_INVALID"),
      query,
    );
  }
});

test("a listing of reminders takes a type, an id, or both", () => {
  assert.deepEqual(parseReminderQuery(""), { type: undefined, id: undefined, after: undefined, limit: 100 });
  const after = { type: "Cart", id: "b", name: "pay up" };
  const query = `type=Cart&id=a%2Bb+c&limit=1000&after=${formatReminderCursor(after)}`;
  assert.deepEqual(parseReminderQuery(query), { type: "Cart", id: "a+b c", limit: 1_000, after });
  assert.equal(parseReminderQuery("id=a").id, "a");
  const cursor = formatCursor({ type: "Cart", id: "b" });
  for (const query of ["active=true", "prefix=a", "name=a", "limit=0", "id=a&id=b", "after=x", `after=${cursor}`]) {
    assert.throws(
      () => parseReminderQuery(query),
      (error) => isLimpetError(error, "ARGUMENT_INVALID"),
      query,
    );
  }
  for (const query of ["type=%2F", "id=..", "id=%00"]) {
    assert.throws(
      () => parseReminderQuery(query),
      (error) => isLimpetError(error, "NAME_INVALID"),
      query,
    );
  }
});

test("a cursor leads back to its place, and any other text is rejected or is that cursor", () => {
  const name = fc
    .string({ minLength: 1, unit: "grapheme", maxLength: 30 })
    .filter((text) => nameProblem(text, LIMITS.wordBytes) === undefined);
  fc.assert(
    fc.property(name, name, (type, id) => {
      assert.deepEqual(parseListQuery(`after=${formatCursor({ type, id })}`).after, { type, id });
      const reminder = { type, id, name: `${id}!` };
      assert.deepEqual(parseReminderQuery(`after=${formatReminderCursor(reminder)}`).after, reminder);
    }),
  );
  fc.assert(
    fc.property(fc.base64String(), (text) => {
      try {
        const { after } = parseListQuery(`after=${encodeURIComponent(text)}`);
        if (after !== undefined) assert.equal(formatCursor(after), text);
      } catch (error) {
        assert.ok(isLimpetError(error, "ARGUMENT_INVALID"));
      }
    }),
  );
});
