import { parseTime } from '@kubus/bus';
import {
  type AnyDeclaration,
  type ServiceContract,
  bareType,
  serviceInstance,
  serviceInstanceSchema,
  typeOf,
} from '@kubus/contracts';
import type { MapEdge, MapService, ServiceMap } from '@kubus/observatory-api';
import { serviceOf } from './brief.ts';
import { MessageIndex } from './message-index.ts';
import { ascending, quantile } from './quantile.ts';
import { recordedMessage } from './recorded-message.ts';
import type { StoredMessage } from './stored-message.ts';
import { payloadOf } from './summary.ts';

/** Over how long rates are taken, in milliseconds. */
const RATE_MS = 10_000;

type Contracts = Readonly<Record<string, ServiceContract>>;
type Instance = MapService['instances'][number];

/** When messages of one kind were published. */
interface Seen {
  messages: number;
  /** Those of the last {@link RATE_MS}, oldest first. */
  recent: number[];
}

/** Who says what to whom, of a whole recording: takes message after message in the order of the broker and keeps none. */
export class ServiceMapBuilder {
  readonly #contracts: Contracts;
  readonly #instances = new Map<string, Map<string, Instance>>();
  readonly #services = new Map<string, Seen>();
  /** By publisher and type. */
  readonly #types = new Map<string, Seen>();
  /** By type and reading service: how long messages were on the bus until one that waited for them had them. */
  readonly #bus = new Map<string, number[]>();
  readonly #known = new MessageIndex<{ at: number; type: string; heardBy: string[] }>();
  #last = 0;

  constructor(contracts: Contracts) {
    this.#contracts = contracts;
  }

  add({ message }: StoredMessage): void {
    const recorded = recordedMessage(message);
    if (recorded === undefined) return;
    const { envelope, at } = recorded;
    const { cause, source, heard } = envelope;
    // A fact that was stored again is no other message.
    if (this.#known.get(cause.id) !== undefined) return;
    const service = serviceOf(source);
    const type = bareType(envelope.type);
    this.#known.set(cause.id, { at, type, heardBy: [] });
    this.#last = Math.max(this.#last, at);
    this.#see(this.#services, service, at);
    this.#see(this.#types, `${service} ${type}`, at);
    if (heard !== undefined) this.#measure(envelope.causes[0] ?? '', service, parseTime(heard));
    if (envelope.type === typeOf(serviceInstance)) this.#announced(service, source, payloadOf(message));
  }

  /** As things stand; may be asked for again after more messages. */
  map(): ServiceMap {
    const services = Object.entries(this.#contracts).map(([service, { about }]): MapService => {
      const instances = [...(this.#instances.get(service)?.values() ?? [])];
      return { service, about, instances, ...this.#figures(this.#services.get(service)) };
    });
    const edges = Object.entries(this.#contracts).flatMap(([from, contract]) => this.#edgesFrom(from, contract));
    return { services, edges };
  }

  #edgesFrom(from: string, { owns, publishes, calls }: ServiceContract): MapEdge[] {
    return [...owns, ...publishes, ...calls].flatMap((declaration) => {
      const type = bareType(typeOf(declaration));
      return this.#readersOf(declaration).map((to): MapEdge => {
        const times = ascending(this.#bus.get(`${type} ${to}`) ?? []);
        return {
          ...{ from, to, type, kind: declaration.kind },
          ...this.#figures(this.#types.get(`${from} ${type}`)),
          ...(times.length > 0 && { busP50: quantile(times, 0.5), busP95: quantile(times, 0.95) }),
        };
      });
    });
  }

  #readersOf(declaration: AnyDeclaration): string[] {
    return Object.entries(this.#contracts)
      .filter(([, { reads, hears, serves }]) =>
        [...reads, ...hears, ...serves].some((one) => typeOf(one) === typeOf(declaration)),
      )
      .map(([service]) => service);
  }

  #see(kinds: Map<string, Seen>, name: string, at: number): void {
    const seen = kinds.get(name) ?? { messages: 0, recent: [] };
    kinds.set(name, seen);
    seen.messages += 1;
    seen.recent.push(at);
    // Not with every message: what is too old is dropped once it is most of what is there.
    if (seen.recent.length > 64 && (seen.recent[seen.recent.length >> 1] ?? 0) <= this.#last - RATE_MS) {
      seen.recent = seen.recent.filter((one) => one > this.#last - RATE_MS);
    }
  }

  #figures(seen: Seen | undefined): Pick<MapService, 'messages' | 'rate'> {
    const recent = seen?.recent.filter((at) => at > this.#last - RATE_MS) ?? [];
    return { messages: seen?.messages ?? 0, rate: recent.length / (RATE_MS / 1000) };
  }

  /** One message counts once for each service that waited for it, when that first told of it. */
  #measure(causeId: string, service: string, heard: number): void {
    const cause = this.#known.get(causeId);
    if (cause === undefined || cause.heardBy.includes(service)) return;
    cause.heardBy.push(service);
    const key = `${cause.type} ${service}`;
    const times = this.#bus.get(key) ?? [];
    this.#bus.set(key, times);
    times.push(Math.max(0, heard - cause.at));
  }

  #announced(service: string, instance: string, payload: unknown): void {
    const { data } = serviceInstanceSchema.safeParse(payload);
    if (data === undefined) return;
    const known = this.#instances.get(service) ?? new Map<string, Instance>();
    this.#instances.set(service, known);
    known.set(instance, { instance, epoch: data.epoch, startedAt: data.startedAt });
  }
}

/** Who says what to whom over a whole recording, `messages` in the order of the broker. */
export function serviceMap(contracts: Contracts, messages: Iterable<StoredMessage>): ServiceMap {
  const builder = new ServiceMapBuilder(contracts);
  for (const stored of messages) builder.add(stored);
  return builder.map();
}
