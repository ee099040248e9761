import assert from "node:assert/strict";
import { test } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { parseConfig } from "./config-file.ts";
import type { Entry } from "./origin.ts";
import { readValue } from "./read-value.ts";

const BLOCK = "spec.actor.placement.stickiness";

/** The whole block, as in the file below `stickiness`; its first line is line 5. */
const withBlock = (...lines: readonly string[]): string =>
  ["spec:", "  actor:", "    placement:", "      stickiness:", ...lines.map((line) => `        ${line}`), ""].join(
    "\n",
  );

function stickyOf(text: string): Entry | undefined {
  const entries = parseConfig(text, "limpet.yaml").filter(({ key }) => key === "sticky");
  assert.ok(entries.length <= 1);
  // The result is a value of the setting, whatever its notation.
  for (const entry of entries) assert.deepEqual(readValue(entry), entry.value);
  return entries[0];
}

function refused(text: string): string {
  try {
    parseConfig(text, "limpet.yaml");
  } catch (error) {
    assert.ok(isLimpetError(error, "OPTION_INVALID"), String(error));
    return error.message;
  }
  return assert.fail("nothing was refused");
}

test("the published block is understood, and each part knows its place", () => {
  const text = `
kind: Configuration
metadata:
  name: shop
spec:
  actor:
    placement:
      stickiness:
        enabled: true
        byType:
          - Player
          - Cart
`;
  assert.deepEqual(parseConfig(text, "limpet.yaml"), [
    {
      key: "sticky",
      value: ["Player", "Cart"],
      origin: { source: "file", name: `${BLOCK}.byType`, place: "limpet.yaml:10" },
    },
  ]);
});

test("enabled without types means all, with types exactly those, and disabled means none", () => {
  const origin = { source: "file", name: `${BLOCK}.enabled`, place: "limpet.yaml:5" };
  assert.deepEqual(stickyOf(withBlock("enabled: true")), { key: "sticky", value: "all", origin });
  assert.deepEqual(stickyOf(withBlock("enabled: true", "byType: [Cart, Cart]"))?.value, ["Cart"]);
  assert.deepEqual(stickyOf(withBlock("enabled: false")), { key: "sticky", value: "none", origin });
  assert.deepEqual(stickyOf(withBlock("enabled: false", "byType: [Cart]")), { key: "sticky", value: "none", origin });
  assert.equal(stickyOf(withBlock("enabled: false", "byType: []"))?.value, "none");
  assert.equal(stickyOf(withBlock("enabled: yes"))?.value, "all");
});

test("an absent or incomplete block sets nothing", () => {
  for (const text of [
    "store: a.db\n",
    "kind: Configuration\n",
    "kind:\nmetadata:\nspec:\n",
    "metadata: {}\nspec: {}\n",
    "metadata: { name: shop }\nspec: { actor: }\n",
    "spec: { actor: { placement: {} } }\n",
    "spec: { actor: { placement: { stickiness: } } }\n",
  ]) {
    assert.equal(stickyOf(text), undefined, text);
  }
});

test("the block may stand beside our own settings", () => {
  const keys = parseConfig(`store: a.db\n${withBlock("enabled: true")}cluster: { lease: 20s }\n`, "limpet.yaml");
  assert.deepEqual(keys.map(({ key }) => key).sort(), ["cluster", "lease", "sticky", "store"]);
});

test("the same setting in both spellings is rejected with both places", () => {
  assert.equal(
    refused(`${withBlock("enabled: true")}sticky: none\n`),
    `sticky (limpet.yaml:6) and ${BLOCK}.enabled (limpet.yaml:5) set the same option; remove one of them`,
  );
});

test("a block without enabled is rejected with the correct form", () => {
  const message =
    `${BLOCK} (limpet.yaml:4): enabled is missing; write "enabled: true" to have sticky types, ` +
    'or "enabled: false" to have none';
  assert.equal(refused(withBlock("byType: [Cart]")), message);
  assert.equal(refused(withBlock("enabled:", "byType: [Cart]")), message);
  assert.equal(refused("spec:\n  actor:\n    placement:\n      stickiness: {}\n"), message);
});

test("an empty list of types is rejected, and so is a key without items", () => {
  for (const line of ["byType: []", "byType:"]) {
    assert.equal(
      refused(withBlock("enabled: true", line)),
      `${BLOCK}.byType (limpet.yaml:6): names no type, so that none would be sticky; name some, leave byType out to mean ` +
        'all types, or write "enabled: false"',
    );
  }
});

test("types are names, whether stickiness is enabled or disabled", () => {
  for (const enabled of ["enabled: true", "enabled: false"]) {
    const wrong = (types: string): string => refused(withBlock(enabled, `byType: ${types}`));
    assert.match(wrong("[a/b]"), new RegExp(`^${BLOCK}\\.byType \\(limpet\\.yaml:6\\): "a/b" must not contain`));
    assert.match(wrong("[Cart, '']"), /has an empty item/);
    assert.match(wrong("[5]"), /5 is not text, as every item of the list must be/);
    assert.match(wrong("Cart"), /"Cart" is not a list of types; write for example \[Player, Cart\]$/);
    assert.match(wrong("{ Cart: true }"), /is not a list of types/);
    assert.match(wrong("[all]"), /"all" is not the name of a type here; leave byType out to mean all types/);
  }
});

test("the key enabled must be yes or no", () => {
  assert.equal(
    refused(withBlock("enabled: maybe")),
    `${BLOCK}.enabled (limpet.yaml:5): "maybe" is neither yes nor no; write true or false`,
  );
  assert.match(refused(withBlock("enabled: [true]")), /is neither yes nor no/);
});

test("misspelt keys are rejected at every depth with a suggestion", () => {
  assert.equal(
    refused(withBlock("enabled: true", "bytype: [Cart]")),
    `${BLOCK}.bytype (limpet.yaml:6): there is no such setting; did you mean "${BLOCK}.byType"?`,
  );
  assert.match(refused("spec:\n  actr: {}\n"), /^spec\.actr \(limpet\.yaml:2\): .*; did you mean "spec\.actor"\?$/);
  assert.match(refused("spec: { actor: { placment: {} } }\n"), /did you mean "spec\.actor\.placement"\?$/);
  assert.match(refused("spec: { actor: { placement: { stickyness: {} } } }\n"), /did you mean "spec.*\.stickiness"\?$/);
  assert.match(refused("spec: { tracing: {} }\n"), /^spec\.tracing .*there is no such setting; known is spec\.actor$/);
  assert.match(refused("metadata: { nme: shop }\n"), /did you mean "metadata\.name"\?$/);
  assert.match(refused("spce: {}\n"), /^spce \(limpet\.yaml:1\): there is no such setting; did you mean "spec"\?$/);
  assert.match(refused("stickiness: {}\n"), /did you mean "spec\.actor\.placement\.stickiness"\?$/);
});

test("a value in place of a block is rejected, and so is another kind", () => {
  assert.equal(refused("spec: 5\n"), "spec (limpet.yaml:1): 5 is no block; below it belongs spec.actor");
  assert.match(
    refused("spec: { actor: { placement: { stickiness: true } } }\n"),
    /true is no block; below it belongs .*enabled and /,
  );
  assert.match(refused("metadata: shop\n"), /"shop" is no block; below it belongs metadata\.name$/);
  assert.equal(
    refused("kind: Component\n"),
    'kind (limpet.yaml:1): "Component" is not Configuration, the one kind that is understood',
  );
  assert.match(refused("kind: configuration\n"), /; did you mean "Configuration"\?$/);
});
