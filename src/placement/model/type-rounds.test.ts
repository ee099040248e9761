// The preconditions of rounds: the hosts that a round depends on.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ConnectionController } from "./connection-controller.ts";
import { TypeRounds } from "./type-rounds.ts";

const SETTINGS = {
  namespace: "n",
  term: 1,
  leaseMs: 10_000,
  roundTimeoutMs: 8_000,
  coalesceMs: 0,
  replicationFactor: 10,
};

function begin() {
  const connections = new ConnectionController(SETTINGS.leaseMs);
  connections.expect({ incarnation: "a", address: "a:1", types: ["cart"], machine: "m", pid: 7 }, SETTINGS.leaseMs);
  return { rounds: new TypeRounds(SETTINGS, { connections, settled: () => {} }), host: connections.host("a")! };
}

describe("a broken precondition", () => {
  it("a type is not opened while a holder has not connected", () => {
    const { rounds } = begin();
    const message = /opened when its holders have connected; host a: expected, stream -, types \[cart\], held \[cart\]/;
    assert.throws(() => rounds.open(rounds.of("cart"), 0), { code: "INVARIANT", message });
  });

  it("a host without a stream gets no snapshot", () => {
    const { rounds, host } = begin();
    const message = /only a connected host gets a snapshot; host a: expected, stream -/;
    assert.throws(() => rounds.inform(host, []), { code: "INVARIANT", message });
  });
});
