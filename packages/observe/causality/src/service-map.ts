import { type AnyDeclaration, type ServiceContract, bareType, typeOf } from '@kubus/contracts';
import type { MapEdge, MapService, MessageKind, ServiceMap } from '@kubus/contracts/observatory';
import { countedQuantile } from './quantile.ts';

/** The period at the end of a recording over which rates are computed, in milliseconds. */
export const RATE_MS = 10_000;

type Contracts = Readonly<Record<string, ServiceContract>>;

/** How often a service has published messages of one type. */
export interface PublishedCount {
  readonly service: string;
  /** Of a reply, that of its command. */
  readonly type: string;
  readonly kind: MessageKind;
  readonly messages: number;
}

/** How many messages of one type spent this time on the bus until a waiting service received them. */
export interface ReceivedCount {
  readonly type: string;
  /** The service that waited. */
  readonly service: string;
  /** Milliseconds. */
  readonly ms: number;
  readonly messages: number;
}

/** Counts of a recording, each message counted once, however often it was stored. */
export interface CountedMessages {
  readonly published: Iterable<PublishedCount>;
  /** Those published in its last {@link RATE_MS}. */
  readonly lately: Iterable<PublishedCount>;
  /** The shortest times of each type and service first. */
  readonly received: Iterable<ReceivedCount>;
  /** By service. */
  readonly instances: ReadonlyMap<string, MapService['instances']>;
}

/** Which service publishes what for which other one, with counts, rates and times on the bus. */
export function serviceMap(contracts: Contracts, counts: CountedMessages): ServiceMap {
  const [published, lately] = [new Counts(counts.published), new Counts(counts.lately)];
  const times = new Map<string, { value: number; count: number }[]>();
  for (const { type, service, ms, messages } of counts.received) {
    const key = `${bareType(type)} ${service}`;
    const known = times.get(key);
    if (known === undefined) times.set(key, [{ value: ms, count: messages }]);
    else known.push({ value: ms, count: messages });
  }
  const rate = (messages: number) => messages / (RATE_MS / 1000);
  const services = Object.entries(contracts).map(([service, { about }]): MapService => ({
    ...{ service, about, instances: counts.instances.get(service) ?? [] },
    ...{ messages: published.of(service), rate: rate(lately.of(service)) },
  }));
  const edges = Object.entries(contracts).flatMap(([from, { owns, publishes, calls }]) =>
    [...owns, ...publishes, ...calls].flatMap((declaration) => {
      const type = bareType(typeOf(declaration));
      const key = `${from} ${type}`;
      return readersOf(contracts, declaration).map((to): MapEdge => {
        const bus = times.get(`${type} ${to}`)?.sort((a, b) => a.value - b.value) ?? [];
        return {
          ...{ from, to, type, kind: declaration.kind, messages: published.of(key), rate: rate(lately.of(key)) },
          ...(bus.length > 0 && { busP50: countedQuantile(bus, 0.5), busP95: countedQuantile(bus, 0.95) }),
        };
      });
    }),
  );
  return { services, edges };
}

function readersOf(contracts: Contracts, declaration: AnyDeclaration): string[] {
  return Object.entries(contracts)
    .filter(([, { reads, hears, serves }]) =>
      [...reads, ...hears, ...serves].some((one) => typeOf(one) === typeOf(declaration)),
    )
    .map(([service]) => service);
}

/** Messages of a service, and of a service and type. A reply counts for its service alone. */
class Counts {
  readonly #counts = new Map<string, number>();

  constructor(published: Iterable<PublishedCount>) {
    for (const { service, type, kind, messages } of published) {
      this.#add(service, messages);
      if (kind !== 'reply') this.#add(`${service} ${bareType(type)}`, messages);
    }
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  #add(key: string, messages: number): void {
    this.#counts.set(key, this.of(key) + messages);
  }
}
