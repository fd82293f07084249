/** A value now, with its labels. */
export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A metric as it is declared; its value is asked for when somebody looks. */
export interface MetricDeclaration {
  readonly type: 'gauge' | 'counter';
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  collect(): number | readonly Sample[];
}

/**
 * What a service shows of itself. It only holds declarations: the library that writes them out is loaded when the first
 * scrape comes, because most services of most nodes are never scraped, and each of them would carry it in memory.
 */
export class Metrics {
  readonly #labels: Readonly<Record<string, string>>;
  readonly #declarations: MetricDeclaration[] = [];

  /** @param labels go with every sample. */
  constructor(labels: Readonly<Record<string, string>>) {
    this.#labels = labels;
  }

  add(declaration: MetricDeclaration): void {
    this.#declarations.push(declaration);
  }

  /** The metrics in Prometheus' text format. */
  async write(): Promise<{ text: string; contentType: string }> {
    const { Counter, Gauge, Registry } = (await import('prom-client')).default;
    const registry = new Registry();
    registry.setDefaultLabels(this.#labels);
    for (const declaration of this.#declarations) {
      const { type, name, help, labelNames = [] } = declaration;
      const options = { name, help, labelNames: [...labelNames], registers: [registry] };
      const collected = declaration.collect();
      const samples = typeof collected === 'number' ? [{ value: collected, labels: {} }] : collected;
      if (type === 'gauge') {
        const gauge = new Gauge(options);
        for (const { value, labels = {} } of samples) gauge.set({ ...labels }, value);
      } else {
        const counter = new Counter(options);
        for (const { value, labels = {} } of samples) counter.inc({ ...labels }, value);
      }
    }
    return { text: await registry.metrics(), contentType: registry.contentType };
  }
}

/**
 * What every process shows. prom-client's own default metrics are left out: they measure the event loop a hundred times a
 * second, which is most of what an idle service would do.
 */
export function addProcessMetrics(metrics: Metrics, version: string): void {
  metrics.add({
    type: 'gauge',
    name: 'kubus_build_info',
    help: 'Version of the service.',
    labelNames: ['version'],
    collect: () => [{ value: 1, labels: { version } }],
  });
  metrics.add({
    type: 'counter',
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time of the process.',
    collect: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  });
  metrics.add({
    type: 'gauge',
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process.',
    collect: () => process.memoryUsage.rss(),
  });
  metrics.add({
    type: 'gauge',
    name: 'process_start_time_seconds',
    help: 'Start of the process since the Unix epoch.',
    collect: () => performance.timeOrigin / 1000,
  });
}

/** What the bus counts. */
export function addBusMetrics(
  metrics: Metrics,
  bus: { readonly published: number; readonly refused: number; readonly transport: { readonly connected: boolean } },
): void {
  metrics.add({
    type: 'gauge',
    name: 'kubus_bus_connected',
    help: '1 while the service has the bus.',
    collect: () => (bus.transport.connected ? 1 : 0),
  });
  metrics.add({
    type: 'counter',
    name: 'kubus_bus_published_total',
    help: 'Messages that the service has published.',
    collect: () => bus.published,
  });
  metrics.add({
    type: 'counter',
    name: 'kubus_bus_refused_total',
    help: 'Messages that did not validate.',
    collect: () => bus.refused,
  });
}
