// The metrics of one process, in the Prometheus text format. Instruments are created once and used directly:
// counting is an addition in a typed array, without an allocation. A metric never fails the work it measures:
// an invalid value is left out.
import { invariant } from "../kernel/errors.ts";
import type { Counter, Gauge, Histogram, Labels, Meter } from "../ports/meter.ts";

type Kind = "counter" | "gauge" | "histogram";
type Instrument = Cell | Buckets;

interface Family {
  readonly name: string;
  readonly help: string;
  readonly kind: Kind;
  readonly bounds: readonly number[];
  /** By rendered labels, which are equal text for equal labels. */
  readonly series: Map<string, Instrument>;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/;

/** One number in a typed array, because a number in an ordinary field may be boxed again at each change. */
class Cell implements Counter, Gauge {
  readonly #value = new Float64Array(1);

  add(count: number): void {
    if (count >= 0) this.#value[0]! += count;
  }

  set(value: number): void {
    this.#value[0] = value;
  }

  render(name: string, labels: string): string {
    return `${name}${labels === "" ? "" : `{${labels}}`} ${formatNumber(this.#value[0]!)}\n`;
  }
}

class Buckets implements Histogram {
  readonly #bounds: Float64Array;
  /** One count for each bound, then the count above all bounds, then the sum. */
  readonly #cells: Float64Array;

  constructor(bounds: readonly number[]) {
    this.#bounds = Float64Array.from(bounds);
    this.#cells = new Float64Array(bounds.length + 2);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    const cells = this.#cells;
    // A value that is not finite would make the sum useless for ever.
    if (!(value > Number.NEGATIVE_INFINITY && value < Number.POSITIVE_INFINITY)) return;
    // A linear search from below: nearly all values are small, and the list is short.
    let i = 0;
    while (i < bounds.length && value > bounds[i]!) i++;
    cells[i]! += 1;
    cells[cells.length - 1]! += value;
  }

  render(name: string, labels: string): string {
    const before = labels === "" ? "" : `${labels},`;
    let text = "";
    let count = 0;
    for (let i = 0; i <= this.#bounds.length; i++) {
      count += this.#cells[i]!;
      const bound = i < this.#bounds.length ? formatNumber(this.#bounds[i]!) : "+Inf";
      text += `${name}_bucket{${before}le="${bound}"} ${count}\n`;
    }
    const shown = labels === "" ? "" : `{${labels}}`;
    const sum = this.#cells[this.#cells.length - 1]!;
    return `${text}${name}_sum${shown} ${formatNumber(sum)}\n${name}_count${shown} ${count}\n`;
  }
}

export class Metrics implements Meter {
  readonly #families = new Map<string, Family>();
  readonly #collectors = new Set<() => void>();

  counter(name: string, help: string, labels: Labels = {}): Counter {
    return this.#series(this.#family(name, help, "counter", []), labels, () => new Cell());
  }

  gauge(name: string, help: string, labels: Labels = {}): Gauge {
    return this.#series(this.#family(name, help, "gauge", []), labels, () => new Cell());
  }

  histogram(name: string, help: string, buckets: readonly number[], labels: Labels = {}): Histogram {
    const family = this.#family(name, help, "histogram", buckets);
    return this.#series(family, labels, () => new Buckets(family.bounds));
  }

  /**
   * Calls `fn` before each rendering, to set gauges that are cheaper to count than to track. The returned
   * function removes it.
   */
  collect(fn: () => void): () => void {
    this.#collectors.add(fn);
    return () => void this.#collectors.delete(fn);
  }

  /** Text exposition format 0.0.4, families in the order of their names. */
  render(): string {
    for (const fn of this.#collectors) fn();
    let text = "";
    for (const name of [...this.#families.keys()].sort()) {
      const { help, kind, series } = this.#families.get(name)!;
      text += `# HELP ${name} ${helpText(help)}\n# TYPE ${name} ${kind}\n`;
      for (const [labels, instrument] of series) text += instrument.render(name, labels);
    }
    return text;
  }

  #family(name: string, help: string, kind: Kind, bounds: readonly number[]): Family {
    const known = this.#families.get(name);
    if (known !== undefined) {
      invariant(known.kind === kind, `metric ${name} is a ${known.kind} and was asked for as a ${kind}`);
      const same = known.bounds.length === bounds.length && known.bounds.every((bound, i) => bound === bounds[i]);
      invariant(same, `metric ${name} was asked for with other buckets than before`);
      return known;
    }
    invariant(NAME.test(name), `${JSON.stringify(name)} is not the name of a metric`);
    const ascending = bounds.every((bound, i) => Number.isFinite(bound) && (i === 0 || bound > bounds[i - 1]!));
    invariant(ascending, `the buckets of metric ${name} must be finite and ascending`);
    const family: Family = { name, help, kind, bounds: [...bounds], series: new Map() };
    this.#families.set(name, family);
    return family;
  }

  #series<T extends Instrument>(family: Family, labels: Labels, make: () => T): T {
    for (const label of Object.keys(labels)) {
      const fine = LABEL.test(label) && !(family.kind === "histogram" && label === "le");
      invariant(fine, `${JSON.stringify(label)} is not a label that metric ${family.name} can have`);
    }
    const key = formatLabels(labels);
    let instrument = family.series.get(key) as T | undefined;
    if (instrument === undefined) {
      instrument = make();
      family.series.set(key, instrument);
    }
    return instrument;
  }
}

function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}

/** Sorted by name, so that equal labels have equal text. */
function formatLabels(labels: Labels): string {
  const names = Object.keys(labels).sort();
  return names.map((name) => `${name}="${labelValue(labels[name]!)}"`).join(",");
}

function helpText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function labelValue(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
