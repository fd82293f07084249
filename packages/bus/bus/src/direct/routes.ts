import {
  type ServiceContract,
  type ServiceName,
  commandPattern,
  everyServiceReads,
  factPattern,
  patternOf,
  serviceOfInstance,
} from '@kubus/contracts';

export interface RoutesOptions {
  readonly node: string;
  /** The services of this process. */
  readonly services: readonly ServiceName[];
  /** The services of the node in other processes. */
  readonly others: readonly ServiceName[];
  readonly contracts: Readonly<Record<ServiceName, ServiceContract>>;
}

/** How one subscription of a service is served. */
export interface Route {
  /** It receives messages of this process directly. */
  readonly direct: boolean;
  /** What it subscribes to at the broker: the messages of all others. */
  readonly broker: readonly string[];
}

/**
 * Which messages stay in the process, by the declarations of the services. Direct are those between two services of which each has
 * its only instance in this process; every message is also published.
 */
export class Routes {
  readonly #options: RoutesOptions;
  readonly #direct: Set<ServiceName>;
  /** By {@link topicOf}: the services that read its messages. Those that only follow the record are not among them. */
  readonly #readers = new Map<string, ServiceName[]>();

  /** @param direct the services that receive and send directly at first */
  constructor(options: RoutesOptions, direct: Iterable<ServiceName>) {
    this.#options = options;
    this.#direct = new Set(direct);
    for (const service of [...options.services, ...options.others, 'launcher'] as const) {
      const { reads, serves, hears } = options.contracts[service];
      for (const declaration of [...reads, ...everyServiceReads, ...serves, ...hears]) {
        const topic = topicOf(patternOf(options.node, declaration));
        const readers = this.#readers.get(topic);
        if (readers === undefined) this.#readers.set(topic, [service]);
        else readers.push(service);
      }
    }
  }

  /** Whether messages of `service` are delivered directly. */
  has(service: ServiceName): boolean {
    return this.#direct.has(service);
  }

  /** Returns false when nothing changes. */
  set(service: ServiceName, isDirect: boolean): boolean {
    if (!this.#options.services.includes(service) || this.#direct.has(service) === isDirect) return false;
    if (isDirect) this.#direct.add(service);
    else this.#direct.delete(service);
    return true;
  }

  /** Whether all readers of a message of `service` receive it directly: the broker needs it for the record and its followers only. */
  isOnlyRecorded(service: ServiceName, subject: string): boolean {
    if (!this.#direct.has(service)) return false;
    const topic = topicOf(subject);
    const caller = callerOfReplies(topic);
    const readers = caller === undefined ? this.#readers.get(topic) : [caller];
    return readers?.every((reader) => this.#direct.has(reader)) ?? true;
  }

  /**
   * @param pattern of commands, replies or events
   * @param instances in other processes: they are heard through the broker, also where their service is direct
   */
  ofSubscription(service: ServiceName, pattern: string, instances: Iterable<string>): Route {
    const { node, contracts } = this.#options;
    const viaBroker = { direct: false, broker: [pattern] };
    if (!this.#direct.has(service)) return viaBroker;
    const { serves, hears, calls } = contracts[service];
    if (callerOfReplies(topicOf(pattern)) !== undefined) {
      const servers = new Set(calls.map(({ server }) => server));
      const others = [...servers].filter((server) => !this.#direct.has(server));
      return { direct: true, broker: others.map((server) => pattern.replace(/\*$/, server)) };
    }
    const command = serves.find((one) => patternOf(node, one) === pattern);
    if (command !== undefined) {
      const callers = (Object.keys(contracts) as ServiceName[]).filter((caller) =>
        contracts[caller].calls.includes(command),
      );
      const others = callers.filter((caller) => !this.#direct.has(caller)).map((service) => ({ service }));
      const instancesOfDirect = [...instances].flatMap((instance) => {
        const caller = callers.find((one) => one === serviceOfInstance(instance) && this.#direct.has(one));
        return caller === undefined ? [] : [{ service: caller, instance }];
      });
      const broker = [...others, ...instancesOfDirect].map((one) => commandPattern(node, command, one));
      return { direct: true, broker };
    }
    const event = hears.find((one) => patternOf(node, one) === pattern);
    const isInside = event !== undefined && event.publisher !== 'each' && this.#direct.has(event.publisher);
    return isInside ? { direct: true, broker: [] } : viaBroker;
  }

  /**
   * Whether `service` receives the changes of a fact directly. An owner compares its own facts with what the broker has stored.
   *
   * @param pattern relative to `kubus.<node>.`
   */
  isDirectFact(service: ServiceName, pattern: string): boolean {
    const fact = this.#options.contracts[service].reads.find((one) => factPattern(one) === pattern);
    if (fact === undefined || fact.owner === 'each' || fact.owner === service) return false;
    return this.#direct.has(service) && this.#direct.has(fact.owner);
  }
}

/**
 * What the messages of a declaration have in common, and their patterns: `kubus.<node>.<area>.<kind>.<name>`; of replies
 * `kubus.<node>.reply.<service>.<instance>`.
 */
export function topicOf(subject: string): string {
  let end = -1;
  for (let tokens = 0; tokens < 5; tokens++) {
    end = subject.indexOf('.', end + 1);
    if (end === -1) return subject;
  }
  return subject.slice(0, end);
}

function callerOfReplies(topic: string): ServiceName | undefined {
  const [, , area, service] = topic.split('.', 4);
  return area === 'reply' ? (service as ServiceName) : undefined;
}
