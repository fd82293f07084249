import type { Validity } from '@kubus/kube';
import { Distribution, Tally } from '@kubus/metrics';
import type { Clock } from '@kubus/ports';
import type { Metrics } from '@kubus/service-kit';

/** Bucket bounds of the reference: from a minute to four years, in seconds. */
const LIFE_BUCKETS = [60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000];

/** Metrics of the serving certificates that the cluster signs, under the reference's names (behaviour:agent-metrics). */
export class ServingMetrics {
  readonly #clock: Clock;
  readonly #ages = new Distribution(LIFE_BUCKETS, {});
  readonly #errors = new Tally({});
  #shown: Validity | undefined;

  constructor(clock: Clock, metrics: Metrics) {
    this.#clock = clock;
    metrics.add({
      type: 'gauge',
      name: 'kubelet_certificate_manager_server_ttl_seconds',
      help: 'Seconds until the serving certificate expires; infinite while there is none.',
      collect: () => Math.trunc(((this.#shown?.notAfter ?? Infinity) - this.#clock.now()) / 1000),
    });
    metrics.add({
      type: 'histogram',
      name: 'kubelet_certificate_manager_server_rotation_seconds',
      help: 'Age of serving certificates when they were replaced, in seconds.',
      values: this.#ages,
    });
    metrics.add({
      type: 'counter',
      name: 'kubelet_server_expiration_renew_errors',
      help: 'Failed requests for a new serving certificate.',
      collect: () => this.#errors.samples,
    });
  }

  /** Another certificate is used from now on. */
  shown(validity: Validity): void {
    if (this.#shown !== undefined) this.#ages.observe({}, (this.#clock.now() - this.#shown.notBefore) / 1000);
    this.#shown = validity;
  }

  failed(): void {
    this.#errors.add();
  }
}
