import { DEFAULT_BUCKETS, Distribution, Tally, exponentialBuckets } from '@kubus/metrics';
import type { Clock } from '@kubus/ports';
import type { Metrics } from '@kubus/service-kit';
import type { Runtime } from './runtime/runtime.ts';

/** Buckets of the reference, in seconds. */
const PULL_BUCKETS = [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];

const MB = 1024 * 1024;
/** Size labels of the reference: the first row whose bytes an image exceeds, the greatest first. */
const SIZES: readonly (readonly [bytes: number, label: string])[] = [
  [100 * 1024 * MB, 'GT100GB'],
  [60 * 1024 * MB, '60GB-100GB'],
  [40 * 1024 * MB, '40GB-60GB'],
  [30 * 1024 * MB, '30GB-40GB'],
  [20 * 1024 * MB, '20GB-30GB'],
  [10 * 1024 * MB, '10GB-20GB'],
  [5 * 1024 * MB, '5GB-10GB'],
  [1024 * MB, '1GB-5GB'],
  [500 * MB, '500MB-1GB'],
  [100 * MB, '100MB-500MB'],
  [10 * MB, '10MB-100MB'],
  [0, '0-10MB'],
];

/** The label of an image of that size in bytes; `N/A` for an unknown size. */
export function sizeLabel(bytes: number): string {
  return SIZES.find(([least]) => bytes > least)?.[1] ?? 'N/A';
}

/** A CRI method as the reference's metrics name it, such as `run_podsandbox`. */
export function operationType(method: string): string {
  if (method === 'UpdateContainerResources') return 'update_container';
  return method
    .replace('PodSandbox', 'Podsandbox')
    .replace(/(?!^)[A-Z]/g, (letter) => `_${letter}`)
    .toLowerCase();
}

/** The bridge's metrics, under the reference's names (behaviour:agent-metrics). All times given to it are in milliseconds. */
export class BridgeMetrics {
  readonly #operations = new Tally();
  readonly #operationErrors = new Tally();
  readonly #operationSeconds = new Distribution(exponentialBuckets(0.005, 2.5, 14));
  readonly #sandboxSeconds = new Distribution(DEFAULT_BUCKETS);
  readonly #sandboxErrors = new Tally();
  readonly #relistSeconds = new Distribution(DEFAULT_BUCKETS, {});
  readonly #relistInterval = new Distribution(DEFAULT_BUCKETS, {});
  readonly #podSeconds = new Distribution(DEFAULT_BUCKETS, {});
  readonly #streams = new Tally({});
  readonly #streamErrors = new Tally({});
  readonly #hintSeconds = new Distribution(DEFAULT_BUCKETS, {});
  readonly #pullSeconds = new Distribution(PULL_BUCKETS);
  readonly #checks = new Tally();
  readonly #pluginSeconds = new Distribution(DEFAULT_BUCKETS);
  readonly #pluginErrors = new Tally();
  #relistedAt: number | undefined;

  /** Wraps the runtime to count and time each call. */
  measured(runtime: Runtime, clock: Clock): Runtime {
    return {
      call: async (method, request, options) => {
        const labels = { operation_type: operationType(method) };
        const began = clock.now();
        this.#operations.add(labels);
        try {
          return await runtime.call(method, request, options);
        } catch (error) {
          this.#operationErrors.add(labels);
          throw error;
        } finally {
          this.#operationSeconds.observe(labels, (clock.now() - began) / 1000);
        }
      },
      get connection() {
        return runtime.connection;
      },
      watchConnection: (listener) => runtime.watchConnection(listener),
      containerEvents: (listener) => runtime.containerEvents(listener),
    };
  }

  /**
   * A sandbox was made, or creating it failed.
   *
   * @param handler as the pod's RuntimeClass names it; empty for the default one
   */
  sandbox(handler: string, tookMs: number, failed: boolean): void {
    const labels = { runtime_handler: handler };
    this.#sandboxSeconds.observe(labels, tookMs / 1000);
    this.#sandboxErrors.add(labels, failed ? 1 : 0);
  }

  /** All pods were read. */
  relisted(began: number, ended: number): void {
    this.#relistSeconds.observe({}, (ended - began) / 1000);
    if (this.#relistedAt !== undefined) this.#relistInterval.observe({}, (began - this.#relistedAt) / 1000);
    this.#relistedAt = began;
  }

  /** One pod was read. */
  podRead(tookMs: number): void {
    this.#podSeconds.observe({}, tookMs / 1000);
  }

  /** The runtime's event stream was opened (true) or lost (false). */
  eventStream(comes: boolean): void {
    (comes ? this.#streams : this.#streamErrors).add();
  }

  /** A runtime event was received this long after it happened. */
  hint(delayMs: number): void {
    this.#hintSeconds.observe({}, Math.max(0, delayMs) / 1000);
  }

  /** An image was pulled; the time includes waiting for a turn. */
  pulled(bytes: number, tookMs: number): void {
    this.#pullSeconds.observe({ image_size_in_bytes: sizeLabel(bytes) }, tookMs / 1000);
  }

  /** Whether a pod may use an existing image was checked. */
  checked(result: string): void {
    this.#checks.add({ result });
  }

  /** A credential provider was called. */
  plugin(name: string, tookMs: number, failed: boolean): void {
    const labels = { plugin_name: name };
    this.#pluginSeconds.observe(labels, tookMs / 1000);
    this.#pluginErrors.add(labels, failed ? 1 : 0);
  }

  show(metrics: Metrics): void {
    const counter = (name: string, help: string, values: Tally) =>
      metrics.add({ type: 'counter', name: `kubelet_${name}`, help, collect: () => values.samples });
    const histogram = (name: string, help: string, values: Distribution) =>
      metrics.add({ type: 'histogram', name: `kubelet_${name}`, help, values });
    counter('runtime_operations_total', 'Calls to the container runtime.', this.#operations);
    counter('runtime_operations_errors_total', 'Calls to the container runtime that failed.', this.#operationErrors);
    histogram(
      'runtime_operations_duration_seconds',
      'Duration of calls to the container runtime.',
      this.#operationSeconds,
    );
    histogram('run_podsandbox_duration_seconds', 'Duration of creating sandboxes.', this.#sandboxSeconds);
    counter('run_podsandbox_errors_total', 'Sandboxes that could not be created.', this.#sandboxErrors);
    histogram('pleg_relist_duration_seconds', 'Duration of reading all pods.', this.#relistSeconds);
    histogram('pleg_relist_interval_seconds', 'Time between two reads of all pods.', this.#relistInterval);
    histogram('pleg_pod_relist_duration_seconds', 'Duration of reading a single pod.', this.#podSeconds);
    metrics.add({
      type: 'gauge',
      name: 'kubelet_pleg_last_seen_seconds',
      help: 'When all pods were last read, in seconds since the Unix epoch.',
      collect: () => Math.floor((this.#relistedAt ?? 0) / 1000),
    });
    counter('evented_pleg_connection_success_count', 'How often the runtime’s event stream was opened.', this.#streams);
    counter(
      'evented_pleg_connection_error_count',
      'How often the runtime’s event stream was lost.',
      this.#streamErrors,
    );
    histogram(
      'evented_pleg_connection_latency_seconds',
      'Time from an event of the runtime until it was received.',
      this.#hintSeconds,
    );
    histogram('image_pull_duration_seconds', 'Duration of image pulls.', this.#pullSeconds);
    counter(
      'imagemanager_image_mustpull_checks_total',
      'Checks whether a pod needs credentials for an image on the node.',
      this.#checks,
    );
    histogram(
      'credential_provider_plugin_duration',
      'Duration of credential provider calls in seconds.',
      this.#pluginSeconds,
    );
    counter(
      'credential_provider_plugin_errors_total',
      'Calls to credential providers that failed.',
      this.#pluginErrors,
    );
  }
}
