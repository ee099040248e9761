// The metrics of the HTTP server of a real app.
import assert from "node:assert/strict";
import { it } from "node:test";
import { Actor, limpet } from "../../src/index.ts";
import { metricValue } from "./metric-values.ts";

class Echo extends Actor {
  static options = { name: "Echo" };
  say(text: string): string {
    return text;
  }
}

it("limpet_http_requests_total and limpet_http_request_seconds count requests by route and status", async () => {
  await using app = await limpet({ actors: [Echo], store: "memory:", http: { port: 0 }, logLevel: "error" });
  const call = (method: string) =>
    fetch(`${app.url}/v1.0/actors/Echo/a/method/${method}`, { method: "POST", body: '"hello"' });
  assert.equal((await call("say")).status, 200);
  assert.equal((await call("shout")).status, 404);
  const read = (name: string, labels: Record<string, string>) => metricValue(app.metrics(), `limpet_${name}`, labels);
  assert.equal(read("http_requests_total", { route: "call", status: "200" }), 1);
  assert.equal(read("http_requests_total", { route: "call", status: "404" }), 1);
  assert.equal(read("http_request_seconds_count", { route: "call" }), 2);
  assert.ok(read("http_request_seconds_sum", { route: "call" })! > 0);
});
