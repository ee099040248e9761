import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLimpetError } from "../kernel/errors.ts";
import { Metrics } from "./metrics.ts";

const isBroken = (error: unknown) => isLimpetError(error, "INVARIANT");

/** Parses samples as `name{labels}` → value. */
function read(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const cut = line.lastIndexOf(" ");
    const key = line.slice(0, cut);
    assert.ok(!samples.has(key), `${key} is there twice`);
    samples.set(key, Number(line.slice(cut + 1).replace("Inf", "Infinity")));
  }
  return samples;
}

test("a counter, a gauge and a histogram are rendered in the text format", () => {
  const metrics = new Metrics();
  metrics.counter("b_total", "Things\\done\nso far.", { type: "Cart" }).add(2);
  metrics.gauge("c", "Now.").set(-1.5);
  const histogram = metrics.histogram("a_seconds", "How long.", [0.1, 1], { type: "Cart" });
  for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(value);
  assert.equal(
    metrics.render(),
    [
      "# HELP a_seconds How long.",
      "# TYPE a_seconds histogram",
      'a_seconds_bucket{type="Cart",le="0.1"} 2',
      'a_seconds_bucket{type="Cart",le="1"} 3',
      'a_seconds_bucket{type="Cart",le="+Inf"} 4',
      'a_seconds_sum{type="Cart"} 7.65',
      'a_seconds_count{type="Cart"} 4',
      "# HELP b_total Things\\\\done\\nso far.",
      "# TYPE b_total counter",
      'b_total{type="Cart"} 2',
      "# HELP c Now.",
      "# TYPE c gauge",
      "c -1.5",
      "",
    ].join("\n"),
  );
});

test("a label value cannot break out of its quotes", () => {
  const metrics = new Metrics();
  metrics.counter("x_total", "X.", { type: 'a"} 9\nb\\' }).add(1);
  const line = metrics.render().split("\n")[2];
  assert.equal(line, 'x_total{type="a\\"} 9\\nb\\\\"} 1');
});

test("equal name and labels are the same instrument, in any order of the labels", () => {
  const metrics = new Metrics();
  metrics.counter("x_total", "X.", { a: "1", b: "2" }).add(1);
  metrics.counter("x_total", "X.", { b: "2", a: "1" }).add(1);
  assert.equal(
    metrics.counter("x_total", "X.", { a: "1", b: "2" }),
    metrics.counter("x_total", "", { b: "2", a: "1" }),
  );
  assert.equal(read(metrics.render()).get('x_total{a="1",b="2"}'), 2);
});

test("the same name as another kind, or with other buckets, is a broken invariant", () => {
  const metrics = new Metrics();
  metrics.counter("x", "X.");
  metrics.histogram("h", "H.", [1, 2]);
  assert.throws(() => metrics.gauge("x", "X."), isBroken);
  assert.throws(() => metrics.histogram("h", "H.", [1, 3]), isBroken);
  assert.throws(() => metrics.histogram("h", "H.", [1]), isBroken);
});

test("names, labels and buckets that the format cannot carry are broken invariants", () => {
  const metrics = new Metrics();
  assert.throws(() => metrics.counter("has space", "X."), isBroken);
  assert.throws(() => metrics.counter("x", "X.", { "a-b": "1" }), isBroken);
  assert.throws(() => metrics.histogram("h", "H.", [1], { le: "1" }), isBroken);
  assert.throws(() => metrics.histogram("h2", "H.", [2, 1]), isBroken);
  assert.throws(() => metrics.histogram("h3", "H.", [1, Number.POSITIVE_INFINITY]), isBroken);
});

test("invalid values are left out", () => {
  const metrics = new Metrics();
  const counter = metrics.counter("x_total", "X.");
  for (const value of [Number.NaN, -1, 3]) counter.add(value);
  const histogram = metrics.histogram("h", "H.", [1]);
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -2]) histogram.observe(value);
  const samples = read(metrics.render());
  assert.equal(samples.get("x_total"), 3);
  assert.equal(samples.get("h_count"), 1);
  assert.equal(samples.get("h_sum"), -2);
});

test("a collector sets gauges at each rendering until it is removed", () => {
  const metrics = new Metrics();
  const gauge = metrics.gauge("active", "Active.");
  let active = 1;
  const remove = metrics.collect(() => gauge.set(active));
  assert.equal(read(metrics.render()).get("active"), 1);
  active = 2;
  assert.equal(read(metrics.render()).get("active"), 2);
  remove();
  active = 3;
  assert.equal(read(metrics.render()).get("active"), 2);
});

test("counts add up, and buckets are cumulative", () => {
  const bounds = fc.uniqueArray(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }), {
    maxLength: 20,
    comparator: (a, b) => a === b,
  });
  fc.assert(
    fc.property(
      bounds,
      fc.array(fc.double({ noNaN: true, noDefaultInfinity: true, min: -2e6, max: 2e6 })),
      (given, values) => {
        const sorted = given.sort((a, b) => a - b);
        const metrics = new Metrics();
        const histogram = metrics.histogram("h", "H.", sorted);
        const counter = metrics.counter("c_total", "C.");
        for (const value of values) {
          histogram.observe(value);
          counter.add(Math.abs(value));
        }
        const samples = read(metrics.render());
        for (const bound of sorted) {
          assert.equal(samples.get(`h_bucket{le="${bound}"}`), values.filter((value) => value <= bound).length);
        }
        assert.equal(samples.get('h_bucket{le="+Inf"}'), values.length);
        assert.equal(samples.get("h_count"), values.length);
        assert.equal(
          samples.get("h_sum"),
          values.reduce((sum, value) => sum + value, 0),
        );
        assert.equal(
          samples.get("c_total"),
          values.reduce((sum, value) => sum + Math.abs(value), 0),
        );
      },
    ),
  );
});

test("any label value round-trips", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'\\\n"{}, nr=1é💥') }), (value) => {
      const metrics = new Metrics();
      metrics.gauge("g", "G.", { v: value }).set(1);
      const lines = metrics.render().split("\n");
      assert.equal(lines.length, 4);
      const written = /^g\{v="(.*)"\} 1$/s.exec(lines[2]!)![1]!;
      const back = written.replace(/\\(.)/gs, (_, c: string) => (c === "n" ? "\n" : c));
      assert.equal(back, value);
    }),
  );
});
