import { Distribution, type MetricSample, Tally } from '@kubus/metrics';

/** Bucket bounds of the reference, in seconds and in bytes. */
const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const BYTES = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];

interface Declared {
  readonly name: string;
  readonly help: string;
}

/** Where a client registers its metrics, beside those of its service. */
export interface MetricsSink {
  add(
    declaration: Declared &
      (
        | { readonly type: 'counter'; collect(): readonly MetricSample[] }
        | { readonly type: 'histogram'; readonly values: Distribution }
      ),
  ): void;
}

/** A request that was sent, and its result. */
export interface SentRequest {
  readonly method: string;
  /** With its port. */
  readonly host: string;
  /** The code of the response's status; undefined without a response. */
  readonly status: number | undefined;
  /** Milliseconds until the head of the response. */
  readonly tookMs: number;
  readonly bytes: number;
}

/** A client's metrics of its requests to the API server, under the reference's names (behaviour:agent-metrics). */
export class RestClientMetrics {
  readonly #requests = new Tally();
  readonly #seconds = new Distribution(SECONDS);
  readonly #waits = new Distribution(SECONDS);
  readonly #sent = new Distribution(BYTES);
  readonly #received = new Distribution(BYTES);

  constructor(sink: MetricsSink) {
    sink.add({
      type: 'counter',
      name: 'rest_client_requests_total',
      help: 'Requests to the API server, by result.',
      collect: () => this.#requests.samples,
    });
    const histograms: readonly (readonly [name: string, help: string, values: Distribution])[] = [
      ['request_duration_seconds', 'Latency of requests to the API server.', this.#seconds],
      ['rate_limiter_duration_seconds', 'Time that requests waited for the rate limit.', this.#waits],
      ['request_size_bytes', 'Bytes of request bodies.', this.#sent],
      ['response_size_bytes', 'Bytes of response bodies.', this.#received],
    ];
    for (const [name, help, values] of histograms) {
      sink.add({ type: 'histogram', name: `rest_client_${name}`, help, values });
    }
  }

  sent({ method, host, status, tookMs, bytes }: SentRequest): void {
    const labels = { verb: method, host };
    this.#requests.add({ code: String(status ?? '<error>'), method, host });
    this.#seconds.observe(labels, tookMs / 1000);
    this.#sent.observe(labels, bytes);
  }

  /** A request had to wait for its turn in the rate limit. */
  waited(method: string, host: string, waitMs: number): void {
    this.#waits.observe({ verb: method, host }, waitMs / 1000);
  }

  /** A response was read to its end. */
  received(method: string, host: string, bytes: number): void {
    this.#received.observe({ verb: method, host }, bytes);
  }
}
