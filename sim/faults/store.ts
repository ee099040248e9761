// Faults of the database that affect all hosts.
import type { Prng } from "../../src/kernel/prng.ts";
import { type DatabaseTroubles, NO_TROUBLES } from "../../src/world/database/database.ts";
import { RESTORED, type Stage } from "../stage.ts";
import { type Fault, fault, lengths, severity, times } from "./fault.ts";

function trouble(stage: Stage, ms: number, troubles: Partial<DatabaseTroubles>): void {
  const { database } = stage.world;
  database.troubles = { ...database.troubles, ...troubles };
  const none = Object.fromEntries(
    Object.keys(troubles).map((key) => [key, NO_TROUBLES[key as keyof DatabaseTroubles]]),
  );
  stage.undoAfter(ms, () => {
    database.troubles = { ...database.troubles, ...none };
  });
}

interface Spell {
  readonly troubles: Partial<DatabaseTroubles>;
  readonly ms: number;
}

/** A period in which requests to the database are faulty. */
function spell(
  name: string,
  summary: string,
  mostMs: number,
  troubles: (chance: Prng) => () => Partial<DatabaseTroubles>,
): Fault {
  return fault<Spell>({
    name,
    summary,
    draw(chance, plan) {
      const [draw, ms] = [troubles(chance), lengths(chance, 100, mostMs)];
      return times(chance, plan, 3, () => ({ troubles: draw(), ms: ms() }));
    },
    happen(stage, { troubles, ms }, strike) {
      strike("", { ...troubles, ms });
      trouble(stage, ms, troubles);
    },
  });
}

export const failsBefore = spell("error before", "requests fail without an effect", 30_000, (chance) => {
  const share = severity(chance, 0.01, 1);
  return () => ({ failsBefore: share() });
});

export const failsAfter = spell(
  "error after",
  "requests fail for the client although they took effect",
  30_000,
  (chance) => {
    const share = severity(chance, 0.01, 1);
    return () => ({ failsAfter: share() });
  },
);

export const slowQueries = spell("slow queries", "the database takes its time", 30_000, (chance) => {
  const [share, ms] = [severity(chance, 0.05, 1), lengths(chance, 50, 8_000)];
  return () => ({ slow: share(), slowMs: ms() });
});

export const heldRows = spell("held rows", "rows are locked by other transactions", 20_000, (chance) => {
  const share = severity(chance, 0.02, 1);
  return () => ({ holds: share() });
});

export const readOnly = spell("disk full", "everything can be read and nothing written", 20_000, () => () => ({
  isReadOnly: true,
}));

export const outage = fault<{ ms: number }>({
  name: "database restart",
  summary: "the database goes down, and requests in flight are lost, whether or not they took effect",
  draw(chance, plan) {
    const ms = lengths(chance, 20, 30_000);
    return times(chance, plan, 2, () => ({ ms: ms() }));
  },
  happen(stage, { ms }, strike) {
    strike("", { ms });
    goDown(stage, ms);
  },
});

function goDown(stage: Stage, ms: number): void {
  const { database } = stage.world;
  database.goDown();
  stage.undoAfter(ms, () => database.comeBack());
}

export const restored = fault<{ afterMs: number; downMs: number }>({
  name: RESTORED,
  summary:
    "the database is restored from an earlier point while all processes go on: it loses later work, and assigns the same numbers again",
  draw(chance, plan) {
    // The backup is taken early, so that rows are created after it.
    const at = Math.floor(chance.between(0, plan.chaosMs / 3));
    const afterMs = Math.floor(chance.between(plan.chaosMs / 6, plan.chaosMs / 2));
    return [{ at, afterMs, downMs: chance.chance(0.5) ? 0 : lengths(chance, 20, 10_000)() }];
  },
  happen(stage, { afterMs, downMs }, strike) {
    const { database } = stage.world;
    const restore = database.backUp();
    stage.later(afterMs, () => {
      // Terms and epochs follow the store's clock: after a restore with a clock that was set back, recovery
      // may take time.
      if (database.offsetMs !== 0 || [...stage.faults.keys()].some((name) => name.startsWith("database clock"))) return;
      strike("", { backMs: afterMs, downMs });
      stage.restoredAt = stage.now;
      if (downMs > 0) goDown(stage, downMs);
      restore();
    });
  },
});

export const flappingDatabase = fault<{ downMs: number[]; upMs: number }>({
  name: "flapping database",
  summary: "the database goes down and comes back several times in a row",
  draw(chance, plan) {
    const [downMs, upMs] = [lengths(chance, 10, 3_000), lengths(chance, 10, 3_000)];
    return times(chance, plan, 2, () => {
      return { downMs: Array.from({ length: 2 + chance.below(10) }, downMs), upMs: upMs() };
    });
  },
  happen(stage, { downMs, upMs }, strike) {
    strike("", { count: downMs.length, upMs });
    let at = 0;
    for (const ms of downMs) {
      stage.later(at, () => goDown(stage, ms));
      at += ms + upMs;
    }
  },
});

export const conflicts = fault<{ bursts: { readonly from: number; readonly ms: number; readonly share: number }[] }>({
  name: "conflicts",
  summary: "transactions fail in bursts because of conflicts",
  draw(chance, plan) {
    const [gap, ms, share] = [lengths(chance, 50, 5_000), lengths(chance, 5, 600), severity(chance, 0.3, 1)];
    return times(chance, plan, 2, () => {
      let from = 0;
      const bursts = Array.from({ length: 1 + chance.below(12) }, () => {
        from += gap();
        return { from, ms: ms(), share: share() };
      });
      return { bursts };
    });
  },
  happen(stage, { bursts }, strike) {
    strike("", { bursts: bursts.length });
    for (const { from, ms, share } of bursts) stage.later(from, () => trouble(stage, ms, { failsBefore: share }));
  },
});
