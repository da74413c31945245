/**
 * Metrics of a server in the text format of Prometheus.
 *
 * Three kinds of metrics need no client library: those for Node bring OpenTelemetry along.
 *
 * @module
 */

type Labels = Readonly<Record<string, string | number>>;

function sampleOf(name: string, labels: Labels, value: number): string {
  const parts = Object.entries(labels)
    .map(([label, text]) => `${label}="${String(text).replaceAll(/["\\\n]/g, "\\$&")}"`);
  return `${name}${parts.length === 0 ? "" : `{${parts.join(",")}}`} ${value}`;
}

/** Upper limits of times from a millisecond to ten minutes, in seconds. */
const LIMITS: readonly number[] = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30, 60, 120, 300, 600],
];

class Histogram {
  readonly #counts = new Uint32Array(LIMITS.length);
  #count = 0;
  #sum = 0;

  add(seconds: number): void {
    const index = LIMITS.findIndex((limit) => seconds <= limit);
    if (index >= 0) this.#counts[index]!++;
    this.#count++;
    this.#sum += seconds;
  }

  samples(name: string): string[] {
    let below = 0;
    const buckets = LIMITS.map((limit, index) =>
      sampleOf(`${name}_bucket`, { le: limit }, below += this.#counts[index]!)
    );
    return [
      ...buckets,
      sampleOf(`${name}_bucket`, { le: "+Inf" }, this.#count),
      sampleOf(`${name}_sum`, {}, this.#sum),
      sampleOf(`${name}_count`, {}, this.#count),
    ];
  }
}

const TIMES = {
  time_to_first_token_seconds: "Time from a request to the first token of its answer.",
  time_per_token_seconds: "Time from a token to the next of the same answer.",
  request_duration_seconds: "Time from a request to the end of its answer.",
} as const;

/** A value of the model: its name, its kind and its meaning. */
export interface ModelMetric {
  readonly name: string;
  readonly kind: "counter" | "gauge";
  readonly help: string;
  readonly value: number;
}

/** Counts the requests of a server and the times of their answers. */
export class ServerMetrics {
  readonly #requests = new Map<string, { readonly labels: Labels; count: number }>();
  readonly #times = new Map(
    Object.keys(TIMES).map((name) => [name as keyof typeof TIMES, new Histogram()]),
  );

  /**
   * Counts a request by its result.
   *
   * @param path A path that the server has, because others would be labels without end.
   * @param status The status of the response, or a word.
   */
  addRequest(path: string, status: number | "aborted"): void {
    const key = `${path} ${status}`;
    const entry = this.#requests.get(key) ?? { labels: { path, status }, count: 0 };
    entry.count++;
    this.#requests.set(key, entry);
  }

  addTime(name: keyof typeof TIMES, seconds: number): void {
    this.#times.get(name)!.add(seconds);
  }

  /** All metrics, with those of the model. */
  text(model: readonly ModelMetric[]): string {
    const family = (
      name: string,
      kind: string,
      help: string,
      samples: readonly string[],
    ) => [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`, ...samples];
    const requests = [...this.#requests.values()].map(({ labels, count }) =>
      sampleOf("gridstride_requests_total", labels, count)
    );
    return [
      ...family("gridstride_requests_total", "counter", "Requests by their results.", requests),
      ...model.flatMap(({ name, kind, help, value }) =>
        family(`gridstride_${name}`, kind, help, [sampleOf(`gridstride_${name}`, {}, value)])
      ),
      ...[...this.#times].flatMap(([name, histogram]) => {
        const full = `gridstride_${name}`;
        return family(full, "histogram", TIMES[name], histogram.samples(full));
      }),
    ].join("\n") + "\n";
  }
}
