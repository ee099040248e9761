import assert from "node:assert/strict";
import { test } from "node:test";
import type { LimpetSettings } from "./limpet-settings.ts";
import { refused, resolved, yaml } from "./settings-kit.test.ts";

test("sticky types are given by a word or by their names", () => {
  for (const word of ["by class", "all", "none"] as const) {
    for (const sources of [
      { code: { sticky: word } },
      { file: yaml(`sticky: ${word}\n`) },
      { env: { LIMPET_STICKY: word } },
      { flags: { sticky: [word] } },
    ]) {
      assert.equal(resolved(sources).settings.sticky, word);
    }
  }
  assert.deepEqual(resolved({ code: { sticky: ["Cart"] } }).settings.sticky, ["Cart"]);
  assert.deepEqual(resolved({ file: yaml("sticky: Cart\n") }).settings.sticky, ["Cart"]);
  assert.deepEqual(resolved({ env: { LIMPET_STICKY: "Cart" } }).settings.sticky, ["Cart"]);
  assert.deepEqual(resolved({ flags: { sticky: ["Cart,Player", "Cart"] } }).settings.sticky, ["Cart", "Player"]);
  assert.deepEqual(resolved({ code: { sticky: ["Yes", "All"] } }).settings.sticky, ["Yes", "All"], "names in a list");
});

test("a later source replaces the whole list of sticky types of an earlier one", () => {
  const code: LimpetSettings = { sticky: ["Cart"] };
  const file = yaml("sticky: [Player]\n");
  assert.deepEqual(resolved({ code, file }).settings.sticky, ["Cart"]);
  assert.equal(resolved({ code, file, env: { LIMPET_STICKY: "none" } }).settings.sticky, "none");
  const { settings, origins } = resolved({ file, env: { LIMPET_STICKY: "none" }, flags: { sticky: ["by class"] } });
  assert.equal(settings.sticky, "by class");
  assert.deepEqual(origins.sticky, { source: "flag", name: "--sticky" });
});

test("a value that is neither a word nor type names is rejected, even one similar to a word", () => {
  assert.equal(
    refused({ code: { sticky: [] } }),
    'sticky (code): [] names no type; write "none" if no type is to be sticky',
  );
  assert.equal(
    refused({ code: { sticky: true as unknown as "all" } }),
    "sticky (code): true is neither by class, all, none nor a list of texts",
  );
  assert.match(
    refused({ file: yaml("sticky: { enabled: true }\n") }),
    /is neither by class, all, none nor a list of texts$/,
  );
  assert.equal(
    refused({ flags: { sticky: ["by-class"] } }),
    '--sticky: "by-class" is not one of by class, all, none; did you mean "by class"?',
  );
  assert.match(refused({ env: { LIMPET_STICKY: "All" } }), /did you mean "all"\?$/);
  assert.match(refused({ env: { LIMPET_STICKY: "true" } }), /"true" is neither one of by class, all, none nor a name$/);
  assert.equal(
    refused({ flags: { sticky: ["Cart", "all"] } }),
    '--sticky: "all" stands in the place of a list and not in one',
  );
  assert.match(refused({ code: { sticky: ["none"] } }), /"none" stands in the place of a list/);
  assert.match(refused({ code: { sticky: ["a/b"] } }), /^sticky \(code\): "a\/b" must not contain/);
  assert.match(refused({ env: { LIMPET_STICKY: "Cart,,Player" } }), /empty item/);
  assert.match(refused({ code: { sticky: [5 as unknown as string] } }), /5 is not text/);
});
