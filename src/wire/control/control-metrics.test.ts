// The metrics of the control server, with real connections.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { metricValue } from "../../../test/metrics/metric-values.ts";
import { Metrics } from "../../observe/metrics.ts";
import { hasCode, openClient, openHost, openTestServer, until } from "./control-kit.test.ts";

describe("metrics of the control server", () => {
  it("limpet_control_streams counts open streams, and no longer those that ended", async (t) => {
    const meter = new Metrics();
    const open = (): number | undefined => metricValue(meter.render(), "limpet_control_streams");
    assert.equal(open() ?? 0, 0);
    const { stream } = await openHost(t, { deps: { meter } });
    assert.equal(open(), 1);
    stream.close();
    await until(() => open() === 0);
  });

  it("limpet_control_refused_total counts connections without the cluster key", async (t) => {
    const meter = new Metrics();
    const testServer = await openTestServer(t, { security: { keys: ["the key of this cluster"] }, deps: { meter } });
    const client = openClient(t, testServer, { security: { keys: ["another key of a cluster"] } });
    await assert.rejects(client.admin({ kind: "cluster" }), hasCode("UNAUTHENTICATED"));
    await until(() => metricValue(meter.render(), "limpet_control_refused_total", { code: "UNAUTHENTICATED" }) === 1);
  });
});
