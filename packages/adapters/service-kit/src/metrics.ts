import type { MessageCosts } from '@kubus/bus';
import { type Distribution, EXPOSITION_TYPE, type Labels, type MetricFamily, exposition } from '@kubus/metrics';

/** A current value, with its labels. */
export interface Sample {
  readonly value: number;
  readonly labels?: Labels;
}

interface DeclarationBase {
  readonly name: string;
  readonly help: string;
}

/** A declared metric; its value is read at each scrape. */
export type MetricDeclaration = DeclarationBase &
  (
    | {
        readonly type: 'gauge' | 'counter';
        collect(): number | readonly Sample[] | Promise<readonly Sample[]>;
      }
    | { readonly type: 'histogram'; readonly values: Pick<Distribution, 'series'> }
  );

/** The metrics of a service: nothing is computed before a scrape. */
export class Metrics {
  readonly #labels: Labels;
  readonly #declarations: MetricDeclaration[] = [];

  /** @param labels are added to every sample of {@link write}. */
  constructor(labels: Labels) {
    this.#labels = labels;
  }

  add(declaration: MetricDeclaration): void {
    this.#declarations.push(declaration);
  }

  /** The current values, without the labels that all of them have. */
  families(): Promise<MetricFamily[]> {
    return Promise.all(this.#declarations.map(collected));
  }

  /** The metrics in Prometheus' text format. */
  async write(): Promise<{ text: string; contentType: string }> {
    return { text: exposition(await this.families(), this.#labels), contentType: EXPOSITION_TYPE };
  }
}

async function collected(declaration: MetricDeclaration): Promise<MetricFamily> {
  const { name, help } = declaration;
  if (declaration.type === 'histogram') return { name, help, type: 'histogram', series: declaration.values.series };
  const found = await declaration.collect();
  const samples = typeof found === 'number' ? [{ value: found }] : found;
  return { name, help, type: declaration.type, samples: samples.map((one) => ({ labels: {}, ...one })) };
}

/** The metrics of the bus. */
export function addBusMetrics(
  metrics: Metrics,
  bus: { readonly published: number; readonly refused: number; readonly transport: { readonly connected: boolean } },
): void {
  metrics.add({
    type: 'gauge',
    name: 'kubus_bus_connected',
    help: '1 while the service is connected to the bus.',
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
    help: 'Messages that failed validation.',
    collect: () => bus.refused,
  });
}

/** What messages have cost this service, by type and by what it did with them. */
export function addMessageCosts(metrics: Metrics, costs: MessageCosts): void {
  const samples = (value: 'count' | 'micros', unit: number) =>
    [...costs].map((cost) => ({ value: cost[value] * unit, labels: { type: cost.type, way: cost.way } }));
  metrics.add({
    type: 'counter',
    name: 'kubus_messages_total',
    help: 'Messages by type, sent, received, or copied to the broker for the record.',
    collect: () => samples('count', 1),
  });
  metrics.add({
    type: 'counter',
    name: 'kubus_messages_cpu_seconds_total',
    help: 'CPU time of these messages: handing them on, or parsing and handling them.',
    collect: () => samples('micros', 1e-6),
  });
}
