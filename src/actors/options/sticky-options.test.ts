import assert from "node:assert/strict";
import { test } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import type { ResolvedSticky } from "../../ports/actor-host.ts";
import { testLimpet } from "../../testing.ts";
import { Actor } from "../actor.ts";
import { type ActorOptions, resolveOptions } from "./actor-options.ts";
import { type PlacementOption, type StickySetting, sticky } from "./sticky-options.ts";

const DEFAULTS = { idleTimeoutMs: 1, callTimeoutMs: 1, mailboxLimit: 1 };
const PLAIN: ResolvedSticky = { lost: 0, limit: Number.POSITIVE_INFINITY, full: "oldest" };

const resolved = (options: ActorOptions, types?: StickySetting): ResolvedSticky | undefined =>
  resolveOptions("Player", options, { ...DEFAULTS, sticky: types }).sticky;

function refused(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    assert.ok(isLimpetError(error, "OPTION_INVALID"), String(error));
    return error.message;
  }
  return assert.fail("nothing was refused");
}

/** A placement that a program without types may pass. */
const wrong = (placement: unknown): string => refused(() => resolved({ placement: placement as PlacementOption }));
const wrongly = (options: unknown): string => wrong(sticky(options as Parameters<typeof sticky>[0]));

test("a class without a placement, or with hash, follows the ring", () => {
  assert.equal(resolved({}), undefined);
  assert.equal(resolved({ placement: "hash" }), undefined);
  assert.equal(resolveOptions("Player", {}, DEFAULTS).sticky, undefined);
});

test("the word sticky, sticky() and sticky({}) mean the same", () => {
  for (const placement of ["sticky", sticky(), sticky({})] as const) assert.deepEqual(resolved({ placement }), PLAIN);
});

test("options of sticky() are kept, and missing ones get their defaults", () => {
  assert.deepEqual(resolved({ placement: sticky({ lost: "reassign" }) }), PLAIN);
  assert.deepEqual(resolved({ placement: sticky({ lost: "never" }) }), { ...PLAIN, lost: "never" });
  assert.deepEqual(resolved({ placement: sticky({ lost: { after: "10m" } }) }), { ...PLAIN, lost: 600_000 });
  assert.deepEqual(resolved({ placement: sticky({ lost: { after: 1 } }) }), { ...PLAIN, lost: 1 });
  assert.deepEqual(resolved({ placement: sticky({ limit: 1, full: "refuse" }) }), {
    lost: 0,
    limit: 1,
    full: "refuse",
  });
  assert.deepEqual(resolved({ placement: sticky({ limit: undefined, full: undefined, lost: undefined }) }), PLAIN);
});

test("the result of sticky() cannot be changed, not even through its argument", () => {
  const lost = { after: "10m" };
  const placement = sticky({ lost });
  lost.after = "1s";
  assert.deepEqual(resolved({ placement }), { ...PLAIN, lost: 600_000 });
  assert.ok(Object.isFrozen(placement));
  assert.ok(Object.isFrozen(placement.lost));
});

test("a wrong placement is rejected with the allowed values and the probable one", () => {
  assert.equal(
    wrong("stikcy"),
    'Player.options.placement must be "hash", "sticky" or sticky({ … }); got "stikcy"; did you mean "sticky"?',
  );
  assert.match(wrong("somewhere"), /got "somewhere"$/);
  assert.match(wrong(true), /got true$/);
  assert.match(wrong(null), /got null$/);
  assert.match(wrong(["sticky"]), /got a list$/);
  assert.match(wrong({ lost: "never" }), /or sticky\(\{ … \}\); got a plain object$/);
  assert.match(
    refused(() => sticky("never" as never)),
    /^sticky\(\) takes an object, such as sticky\(/,
  );
  assert.match(
    refused(() => sticky(null as never)),
    /^sticky\(\) takes an object/,
  );
});

test("an unknown option of sticky() is rejected", () => {
  assert.equal(
    wrongly({ limits: 5 }),
    'Player.options.placement: sticky() has no option "limits"; did you mean "limit"?',
  );
  assert.match(wrongly({ colour: "red" }), /has no option "colour"; known are lost, limit, full$/);
});

test("the rule for lost hosts is reassign, never, or a time", () => {
  assert.match(
    wrongly({ lost: "nevr" }),
    /^Player\.options\.placement\.lost must be "reassign", "never" or .*; got "nevr"; did you mean "never"\?$/,
  );
  for (const lost of ["10m", 5_000, true, null]) assert.match(wrongly({ lost }), /\{ after: "10m" \}; got /);
  assert.match(wrongly({ lost: {} }), /must hold "after" alone, .*; got nothing$/);
  assert.match(wrongly({ lost: { after: "1m", before: "2m" } }), /got "before"$/);
  assert.match(
    wrongly({ lost: { after: 0 } }),
    /lost\.after must be longer than 0; write lost: "reassign" to reassign actors at once$/,
  );
  for (const after of [-1, "-5s", "soon", Number.POSITIVE_INFINITY]) {
    assert.match(wrongly({ lost: { after } }), /^Player\.options\.placement\.lost\.after: .* is not a duration/);
  }
});

test("a limit is a whole number of at least 1, and a full host evicts or refuses", () => {
  for (const limit of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", null]) {
    assert.match(
      wrongly({ limit }),
      /^Player\.options\.placement\.limit must be a whole number of at least 1; got .*; leave it out for no limit$/,
    );
  }
  assert.match(
    wrongly({ full: "refused" }),
    /full must be "oldest" or "refuse"; got "refused"; did you mean "refuse"\?$/,
  );
  assert.match(wrongly({ full: 1 }), /got 1$/);
});

test("the settings outweigh the class, in both directions", () => {
  const placement = sticky({ lost: "never" });
  const details = { ...PLAIN, lost: "never" };
  assert.deepEqual(resolved({ placement }, "by class"), details);
  assert.equal(resolved({}, "by class"), undefined);
  assert.deepEqual(resolved({}, "all"), PLAIN);
  assert.deepEqual(resolved({ placement: "hash" }, "all"), PLAIN);
  assert.equal(resolved({ placement }, "none"), undefined);
  assert.deepEqual(resolved({}, ["Cart", "Player"]), PLAIN);
  assert.equal(resolved({ placement }, ["Cart"]), undefined);
});

test("the options of the class apply where the settings agree with it", () => {
  const placement = sticky({ lost: "never", limit: 5 });
  for (const types of ["all", ["Player"]] as const) {
    assert.deepEqual(resolved({ placement }, types), { lost: "never", limit: 5, full: "oldest" });
  }
});

test("the settings name a type by its name and not by its class", () => {
  const options = { name: "player" };
  assert.equal(resolved(options, ["Player"]), undefined);
  assert.deepEqual(resolved(options, ["player"]), PLAIN);
});

test("a list names any types, also types called all or none", () => {
  assert.equal(resolved({}, ["all"]), undefined);
  assert.deepEqual(resolved({ name: "all" }, ["all"]), PLAIN);
});

test("a mistake in the class is found even if the settings outweigh it", () => {
  for (const types of ["none", "all", []] as const) {
    assert.match(
      refused(() => resolved({ placement: "stick" as "sticky" }, types)),
      /did you mean "sticky"\?/,
    );
  }
});

test("the setting sticky of an app applies to its types: sticky actors stay, the others leave when idle", async () => {
  const left: string[] = [];
  class Guest extends Actor {
    static options = { name: "guest", idleTimeout: "1s" } satisfies ActorOptions;
    hello() {}
    override onDeactivate() {
      left.push(this.type);
    }
  }
  class Member extends Guest {
    static override options = { name: "member", idleTimeout: "1s" };
  }
  await using app = await testLimpet({ actors: [Guest, Member], sticky: ["member"] });
  await app.actor(Guest, "a").hello();
  await app.actor(Member, "a").hello();
  await app.advance("1m");
  assert.deepEqual(left, ["guest"]);
});
