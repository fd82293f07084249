import { Distribution } from '@kubus/metrics';
import type { Metrics } from '@kubus/service-kit';
import { PodStartups } from './pod-startups.ts';

/** Buckets of the reference, in seconds. */
const SYNC_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60];

/** Pod statuses on the API server, and their delays, under the reference's names (behaviour:agent-metrics). */
export class StatusMetrics {
  readonly startups = new PodStartups();
  readonly #syncs = new Distribution(SYNC_BUCKETS, {});

  /** A status was written this long after its change. */
  written(tookMs: number): void {
    this.#syncs.observe({}, tookMs / 1000);
  }

  show(metrics: Metrics): void {
    const histograms: readonly (readonly [name: string, help: string, values: Distribution])[] = [
      ['pod_status_sync_duration_seconds', 'Time from a change of a status until it was written.', this.#syncs],
      [
        'pod_start_total_duration_seconds',
        'Time from the creation of pods until all their containers are known to be running.',
        this.startups.total,
      ],
      [
        'pod_start_sli_duration_seconds',
        'The same for stateless pods, without image pulls and init containers.',
        this.startups.sli,
      ],
    ];
    for (const [name, help, values] of histograms) {
      metrics.add({ type: 'histogram', name: `kubelet_${name}`, help, values });
    }
    metrics.add({
      type: 'gauge',
      name: 'kubelet_first_network_pod_start_sli_duration_seconds',
      help: 'Start duration of the first pod with a network of its own.',
      collect: () => this.startups.firstWithNetwork,
    });
  }
}
