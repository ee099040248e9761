import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { connectionShares, DEFAULT_CONNECTIONS, FEWEST_CONNECTIONS } from "./connection-shares.ts";

describe("connection shares", () => {
  it("the default number of connections gives six to actors, six to workflows and three to reminders", () => {
    assert.deepEqual(connectionShares(DEFAULT_CONNECTIONS), { actors: 6, lanes: 4, workflows: 6, reminders: 3 });
  });

  it("every kind of work has a connection, and together they use exactly the allowed number", () => {
    fc.assert(
      fc.property(fc.integer({ min: FEWEST_CONNECTIONS, max: 1_000 }), (connections) => {
        const { actors, lanes, workflows, reminders } = connectionShares(connections);
        assert.ok(Math.min(actors, lanes, workflows, reminders) >= 1);
        assert.ok(actors >= 3 && lanes < actors);
        assert.equal(actors + workflows + reminders + 2, connections);
      }),
    );
  });
});
