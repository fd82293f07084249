import type { FactOwner } from '@kubus/bus';
import {
  type CachedObject,
  type NamespaceServices,
  type ObjectReference,
  type Pod,
  type RuntimeClass,
  type ServiceAddress,
  type SourceName,
  cachedObject,
  configuredSources,
  namespaceServices,
  objectKey,
  runtimeClass,
} from '@kubus/contracts';
import { type ScriptedNode, podOf } from './scripted-node.ts';

/** The API server's side of a node: publishes as config-sources and object-cache do. */
export class ScriptedCluster {
  readonly #node: ScriptedNode;
  readonly #sources: FactOwner<{ sources: SourceName[] }>;
  readonly #objects: FactOwner<CachedObject>;
  readonly #services: FactOwner<NamespaceServices>;
  readonly #classes: FactOwner<RuntimeClass>;
  readonly #known: ServiceAddress[] = [];

  constructor(node: ScriptedNode) {
    this.#node = node;
    const { bus } = node.broker.join('object-cache', node.clock);
    this.#sources = node.broker.join('config-sources', node.clock).bus.owner(configuredSources);
    this.#objects = bus.owner(cachedObject);
    this.#services = bus.owner(namespaceServices);
    this.#classes = bus.owner(runtimeClass);
  }

  /** Publishes the sources of the node. */
  async sources(...sources: SourceName[]): Promise<void> {
    this.#sources.put('sources', { sources });
    await this.#node.quiet();
  }

  /** Publishes that all classes and the services of `default` have been read. */
  async read(): Promise<void> {
    this.#publishServices('default');
    this.#classes.complete();
    await this.#node.quiet();
  }

  /** Publishes an existing object with these values. */
  async has(object: ObjectReference, values: Record<string, string>, version = '1'): Promise<void> {
    this.#node.bridge.objects[objectKey(object)] = values;
    const keys = Object.keys(values);
    this.#objects.put(objectKey(object), { ...object, state: 'present', uid: 'u', version, keys });
    await this.#node.quiet();
  }

  async misses(object: ObjectReference): Promise<void> {
    this.#objects.put(objectKey(object), { ...object, state: 'missing' });
    await this.#node.quiet();
  }

  async refuses(object: ObjectReference, message: string): Promise<void> {
    this.#objects.put(objectKey(object), { ...object, state: 'refused', message });
    await this.#node.quiet();
  }

  async hasService(service: ServiceAddress): Promise<void> {
    this.#known.push(service);
    this.#publishServices(service.namespace);
    await this.#node.quiet();
  }

  /** Publishes that the services of a namespace have been read, and are only those published before. */
  async readServices(namespace: string): Promise<void> {
    this.#publishServices(namespace);
    await this.#node.quiet();
  }

  async hasClass(name: string, handler: string): Promise<void> {
    this.#classes.put(name, { name, handler });
    await this.#node.quiet();
  }

  #publishServices(namespace: string): void {
    this.#services.put(namespace, { services: this.#known.filter((one) => one.namespace === namespace) });
  }
}

/** A pod of one container `main`, of the API server. */
export function apiPodOf(uid: string, spec: object = {}, container: object = {}): Pod {
  const pod = podOf(uid, spec, container);
  return { ...pod, metadata: { ...pod.metadata, annotations: { 'kubernetes.io/config.source': 'api' } } };
}
