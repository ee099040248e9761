// Checks that no append is acknowledged while the database rejects writes: an append that began after the
// database failed does not succeed before it is back.
import type { CheckerKind } from "../checker.ts";
import { isStateful, labelOf } from "../looks.ts";

export const failClosed: CheckerKind = {
  name: "fail closed",
  rule: "an append that began while the database rejected writes is not acknowledged while it rejects them",
  make(stage, report) {
    /** Since when the database rejects writes. */
    let closedSince: number | undefined;
    const look = (): void => {
      const { isDown, isReadOnly } = stage.world.database.troubles;
      if (!isDown && !isReadOnly) closedSince = undefined;
      else closedSince ??= stage.now;
    };
    return {
      stepped: look,
      answered({ token, call, beganAt, outcome }) {
        look();
        if (closedSince === undefined || beganAt < closedSince || outcome === undefined || "error" in outcome) return;
        if (call.method === "read" || !isStateful(call.type)) return;
        report(`${token} on ${labelOf(call)} was acknowledged while nothing could be written since ${closedSince} ms`);
      },
      committed(_process, _commit, key, outcome) {
        look();
        if (closedSince !== undefined && outcome === "committed")
          report(`${labelOf(key)} was committed to a closed database`);
      },
    };
  },
};
