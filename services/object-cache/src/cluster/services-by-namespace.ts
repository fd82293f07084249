import type { FactOwner } from '@kubus/bus';
import type { NamespaceServices, ServiceAddress } from '@kubus/contracts';
import { type Reflector, kubePath } from '@kubus/kube';
import { References } from '@kubus/volume';
import * as z from 'zod';
import { type ApiReader, follow } from '../follow/api-reader.ts';

/**
 * Shortest time between two facts about a namespace's services, in milliseconds: when thousands are created one after
 * the other, each change would publish all of them.
 */
const REST_MS = 250;

const serviceSchema = z.object({
  metadata: z.object({ namespace: z.string(), name: z.string() }),
  spec: z
    .object({
      clusterIP: z.string().optional(),
      ports: z
        .array(z.object({ name: z.string().optional(), port: z.int(), protocol: z.string().optional() }))
        .nullish(),
    })
    .optional(),
});

/** Follows all Services of the cluster; publishes those of the namespaces that pods need. */
export class ServicesByNamespace {
  readonly #reader: ApiReader;
  readonly #facts: FactOwner<NamespaceServices>;
  readonly #reflector: Reflector<ServiceAddress>;
  readonly #needed = new References<string>();
  readonly #services = new Map<string, Map<string, ServiceAddress>>();
  /** By namespace: the fact as last published, as JSON. */
  readonly #published = new Map<string, string>();
  /** Namespaces that were just published, and whether they have changed since. */
  readonly #resting = new Map<string, boolean>();
  #read = false;
  #podsKnown = false;

  constructor(reader: ApiReader, facts: FactOwner<NamespaceServices>) {
    this.#reader = reader;
    this.#facts = facts;
    const collection = {
      path: kubePath({ version: 'v1', resource: 'services' }),
      parse: (object: unknown): ServiceAddress => {
        const { metadata, spec } = serviceSchema.parse(object);
        return { ...metadata, clusterIP: spec?.clusterIP, ports: spec?.ports ?? [] };
      },
    };
    this.#reflector = follow(reader, collection, {
      replaced: (services) => this.#replace(services),
      changed: (service) => {
        this.#put(service);
        this.#changed(service.namespace);
      },
      removed: ({ namespace, name }) => {
        this.#services.get(namespace)?.delete(name);
        this.#changed(namespace);
      },
    });
    this.set('', ['default']);
  }

  /** Whether all services have been read once. */
  get read(): boolean {
    return this.#read;
  }

  /** Sets the namespaces whose services a pod needs; none: the pod was removed. */
  set(pod: string, namespaces: readonly string[]): void {
    const { added, dropped } = this.#needed.set(pod, new Map(namespaces.map((one) => [one, one])));
    for (const namespace of added.keys()) this.#changed(namespace);
    for (const namespace of dropped) {
      this.#published.delete(namespace);
      this.#facts.remove(namespace);
    }
  }

  /** All pods of the node are known: with the services of their namespaces the set is complete. */
  podsKnown(): void {
    this.#podsKnown = true;
    this.#completeOnceRead();
  }

  stop(): void {
    this.#reflector.stop();
  }

  #replace(services: readonly ServiceAddress[]): void {
    const before = [...this.#services.keys()];
    this.#services.clear();
    for (const service of services) this.#put(service);
    this.#read = true;
    for (const namespace of new Set([...before, ...this.#services.keys(), ...this.#needed.keys()])) {
      this.#changed(namespace);
    }
    this.#completeOnceRead();
  }

  /** A service without an address of its own (`None`) has no variables. */
  #put(service: ServiceAddress): void {
    const { namespace, name, clusterIP = '' } = service;
    const known = this.#services.get(namespace) ?? new Map<string, ServiceAddress>();
    this.#services.set(namespace, known);
    if (clusterIP === '' || clusterIP === 'None') known.delete(name);
    else known.set(name, service);
  }

  #changed(namespace: string): void {
    if (!this.#read || !this.#needed.has(namespace)) return;
    if (this.#resting.has(namespace)) this.#resting.set(namespace, true);
    else this.#publish(namespace);
  }

  #publish(namespace: string): void {
    const services = [...(this.#services.get(namespace)?.values() ?? [])];
    const text = JSON.stringify(services);
    if (this.#published.get(namespace) === text) return;
    this.#published.set(namespace, text);
    this.#facts.put(namespace, { services });
    this.#resting.set(namespace, false);
    this.#reader.clock.after(REST_MS, () => {
      const again = this.#resting.get(namespace) === true;
      this.#resting.delete(namespace);
      if (again) this.#changed(namespace);
    });
  }

  #completeOnceRead(): void {
    if (this.#podsKnown && this.#read) this.#facts.complete();
  }
}
