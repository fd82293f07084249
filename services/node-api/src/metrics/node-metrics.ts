import type { Bus, FactReader } from '@kubus/bus';
import { type ServiceShare, serviceShare, stuckService } from '@kubus/contracts';
import { type MetricFamily, Tally } from '@kubus/metrics';
import { type InstanceFamilies, mergeFamilies, parseFamilies, podGauges } from '@kubus/node-metrics';
import { type Clock, type Logger, toError } from '@kubus/ports';
import type { Metrics } from '@kubus/service-kit';
import { get } from 'node:http';
import { buildInfo } from './build-info.ts';
import type { NodeFacts } from '../node-facts.ts';
import { RequestMetrics } from './request-metrics.ts';

/** How long a service may take to answer with its metrics, in milliseconds: a scraper usually waits ten seconds. */
const ANSWER_MS = 4_000;

export interface NodeMetricsOptions {
  readonly bus: Bus;
  readonly facts: NodeFacts;
  /** The metrics of this service itself. */
  readonly own: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The metrics of the node: those of all its services, collected for each scrape. */
export class NodeMetrics {
  readonly requests: RequestMetrics;
  readonly #options: NodeMetricsOptions;
  readonly #errors = new Tally();
  readonly #shares: FactReader<ServiceShare>;
  #asking: Promise<MetricFamily[]> | undefined;

  constructor(options: NodeMetricsOptions) {
    const { own, bus, clock } = options;
    this.#options = options;
    this.#shares = bus.reader(serviceShare);
    const stuck = bus.reader(stuckService);
    this.requests = new RequestMetrics(clock);
    this.requests.show(own);
    own.add(buildInfo);
    own.add({
      type: 'gauge',
      name: 'kubelet_node_name',
      help: 'The name of the node; always 1.',
      collect: () => [{ value: 1, labels: { node: bus.node } }],
    });
    own.add({
      type: 'gauge',
      name: 'kubelet_metrics_provider',
      help: 'Where the statistics of containers come from: `cadvisor` means the cgroups themselves, not the runtime.',
      collect: () => [{ value: 1, labels: { provider: 'cadvisor' } }],
    });
    own.add({
      type: 'counter',
      name: 'kubus_scrape_errors_total',
      help: 'Services whose metrics were missing in the last scrape of the node.',
      collect: () => this.#errors.samples,
    });
    own.add({
      type: 'counter',
      name: 'kubus_stuck_services_total',
      help: 'How often the launcher has ended a service because it no longer answered.',
      collect: () => [...stuck].map(({ key, value }) => ({ value: value.count, labels: { target: key } })),
    });
  }

  /** The metrics of all services. Scrapes at the same time share one answer. */
  all(): Promise<MetricFamily[]> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  /** The results of the pods' probes. */
  async probes(): Promise<MetricFamily[]> {
    const merged = mergeFamilies(await this.#others('prober'));
    return [...merged.filter(({ name }) => name.startsWith('prober_')), this.#start()];
  }

  /** The start time of the node. */
  slis(): Promise<MetricFamily[]> {
    return Promise.resolve([this.#start()]);
  }

  /** As published by the instances, so that none has to be queried. */
  #start(): MetricFamily {
    const starts = [...this.#options.bus.peers].map(({ startedAt }) => Date.parse(startedAt) / 1000);
    return {
      name: 'process_start_time_seconds',
      help: 'Start of the first of the node’s processes, in seconds since the Unix epoch.',
      type: 'gauge',
      samples: starts.length === 0 ? [] : [{ labels: {}, value: Math.min(...starts) }],
    };
  }

  async #ask(): Promise<MetricFamily[]> {
    const others = await this.#others();
    const own = await this.#own();
    const pods = podGauges(this.#options.facts.podsNow());
    return mergeFamilies([...others, { ...own, families: [...own.families, ...pods] }]);
  }

  async #own(): Promise<InstanceFamilies> {
    const { bus, own } = this.#options;
    return { service: 'node-api', instance: bus.instance, pid: process.pid, families: await own.families() };
  }

  /**
   * The facts of an instance remain when it is scaled away: the launcher lists which instances of a shared service
   * exist.
   */
  #exists(service: string, instance: string): boolean {
    return this.#shares.get(service)?.value.instances.includes(instance) ?? true;
  }

  async #others(only?: string): Promise<InstanceFamilies[]> {
    const { bus, logger } = this.#options;
    const peers = [...bus.peers].filter(
      ({ service, instance }) =>
        instance !== bus.instance && service === (only ?? service) && this.#exists(service, instance),
    );
    const asked = peers.map(async ({ service, instance, pid, http }) => {
      if (http === undefined) return [];
      try {
        const families = parseFamilies(await read(`http://${http}/metrics.json`));
        return [{ service, instance, pid, families }];
      } catch (error) {
        logger.debug({ instance, err: toError(error) }, 'reading the metrics of an instance failed');
        this.#errors.add({ target: service });
        return [];
      }
    });
    return (await Promise.all(asked)).flat();
  }
}

function read(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asking = get(url, { agent: false, signal: AbortSignal.timeout(ANSWER_MS) }, (answer) => {
      answer.setEncoding('utf8');
      let text = '';
      answer.on('data', (part: string) => (text += part));
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(text);
        else reject(new Error(`it answers ${answer.statusCode ?? 0}`));
      });
      answer.on('error', reject);
    });
    asking.on('error', reject);
  });
}
