import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics } from "../../observe/metrics.ts";
import { SchedulerInstruments } from "./metrics.ts";

test("a scheduler that stops leading in the middle of a round has no round in progress", () => {
  const meter = new Metrics();
  const instruments = new SchedulerInstruments(meter);
  instruments.leading(3);
  instruments.rebuilt("n", "Cart", 7, "join", 0.001);
  instruments.rebuilt("n", "Stock", 7, "join", 0.001);
  instruments.settled("n", "Stock", 0.001);
  assert.match(meter.render(), /rounds_in_progress\{namespace="n",type="Cart"\} 1/);
  instruments.leading(0);
  assert.match(meter.render(), /rounds_in_progress\{namespace="n",type="Cart"\} 0/);
  assert.match(meter.render(), /rounds_in_progress\{namespace="n",type="Stock"\} 0/);
});
