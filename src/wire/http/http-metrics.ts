// Metrics of the HTTP server. The label `route` is one of few kinds, never a path.
import type { Counter, Histogram, Meter } from "../../ports/meter.ts";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class HttpMetrics {
  readonly #meter: Meter;
  readonly #requests = new Map<string, Counter>();
  readonly #seconds = new Map<string, Histogram>();

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /** `seconds` is undefined for input that never became a request. */
  count(route: string, status: number, seconds?: number): void {
    this.#counter(route, String(status)).add(1);
    if (seconds !== undefined) this.#histogram(route).observe(seconds);
  }

  #counter(route: string, status: string): Counter {
    const key = `${route} ${status}`;
    let counter = this.#requests.get(key);
    if (counter === undefined) {
      counter = this.#meter.counter("limpet_http_requests_total", "HTTP requests answered.", { route, status });
      this.#requests.set(key, counter);
    }
    return counter;
  }

  #histogram(route: string): Histogram {
    let histogram = this.#seconds.get(route);
    if (histogram === undefined) {
      const help = "Time from the headers of an HTTP request to its answer.";
      histogram = this.#meter.histogram("limpet_http_request_seconds", help, SECONDS, { route });
      this.#seconds.set(route, histogram);
    }
    return histogram;
  }
}
