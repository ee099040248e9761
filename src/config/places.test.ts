import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hostInUrl, hostProblem, shownStore, storeKind, storeProblem, tokenProblem } from "./places.ts";

test("a store is a path, memory: or a PostgreSQL URL", () => {
  for (const [location, kind] of [
    [".limpet/limpet.db", "sqlite"],
    ["/var/lib/limpet.db", "sqlite"],
    ["C:\\data\\limpet.db", "sqlite"],
    ["memory:", "memory"],
    ["postgres://localhost/app", "postgres"],
    ["postgresql://u:p@[::1]:5432/app?sslmode=require", "postgres"],
  ] as const) {
    assert.equal(storeProblem(location), undefined, location);
    assert.equal(storeKind(location), kind, location);
  }
});

test("an invalid store location is rejected with the correct form", () => {
  assert.match(storeProblem(":memory:") ?? "", /write "memory:"/);
  assert.match(storeProblem("memory") ?? "", /write "memory:"/);
  assert.match(storeProblem("mysql://localhost/app") ?? "", /must be a file, "memory:" or "postgres:/);
  assert.match(storeProblem("file:limpet.db") ?? "", /plain path/);
  assert.match(storeProblem("sqlite:limpet.db") ?? "", /plain path/);
  assert.match(storeProblem("postgres:limpet") ?? "", /postgres:\/\/user:password@host/);
  assert.match(storeProblem("postgres://u:p@host:port/x") ?? "", /postgres:\/\/user:password@host/);
  assert.match(storeProblem(" ") ?? "", /empty/);
  assert.match(storeProblem("a\0b") ?? "", /NUL/);
});

test("a store is shown without its password, whatever the password holds", () => {
  assert.equal(shownStore("data/limpet.db"), "data/limpet.db");
  assert.equal(shownStore("postgres://u@host/app"), "postgres://u@host/app");
  assert.equal(shownStore("postgres://u:hunter2@host:5432/app"), "postgres://u:…@host:5432/app");
  assert.equal(shownStore("postgres://host/app?user=u&password=hunter2"), "postgres://host/app?user=u&password=…");
  assert.equal(shownStore("postgres://u:hun/ter2@host:badport/app"), "postgres://…@host:badport/app");
  const secret = fc.stringMatching(/^[A-Za-z0-9@:/#?%&=]{8,20}$/);
  fc.assert(
    fc.property(
      secret,
      (password) => !shownStore(`postgres://u:${encodeURIComponent(password)}@h/a`).includes(password),
    ),
  );
});

test("a listening address has neither scheme nor port", () => {
  for (const host of ["127.0.0.1", "::", "[::1]", "localhost", "box-1.internal"])
    assert.equal(hostProblem(host), undefined);
  assert.match(hostProblem("http://localhost") ?? "", /without http:/);
  assert.match(hostProblem("localhost:80") ?? "", /port is a setting of its own/);
  assert.match(hostProblem("a b") ?? "", /IP address or a host name/);
  assert.match(hostProblem("") ?? "", /IP address or a host name/);
  assert.equal(hostInUrl("::1"), "[::1]");
  assert.equal(hostInUrl("127.0.0.1"), "127.0.0.1");
});

test("a valid token fits into a header and into a list", () => {
  assert.equal(tokenProblem("s3cret-~!"), undefined);
  for (const token of ["", "two words", "a,b", "schlüssel", "line\nbreak"])
    assert.match(tokenProblem(token) ?? "", /ASCII/);
});
