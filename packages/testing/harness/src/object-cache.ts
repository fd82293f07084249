import { chmod, rm } from 'node:fs/promises';
import type { Bus, FactOwner } from '@kubus/bus';
import { mountedObjects, referencedObjects, serviceNamespaces } from '@kubus/container-config';
import {
  type CachedObject,
  type NamespaceServices,
  type ObjectReference,
  type Pod,
  type RuntimeClass,
  type ServiceAddress,
  cachedObject,
  clusterNode,
  csiDriver,
  namespaceServices,
  objectKey,
  podWork,
  runtimeClass,
  trustBundle,
  volumeAttachment,
  volumeClaim,
} from '@kubus/contracts';
import { type ApiObject, objectRoute } from '@kubus/object-socket';
import { type FastifyInstance, fastify } from 'fastify';
import { type ServicePlace, takePlace } from './service-place.ts';
import type { TestNode } from './test-node.ts';

/** The objects of an API server, as a node's object-cache provides them: by facts on the bus, and over its socket. */
export class ObjectCache {
  readonly #facts: FactOwner<CachedObject>;
  readonly #services: FactOwner<NamespaceServices>;
  readonly #classes: FactOwner<RuntimeClass>;
  readonly #objects = new Map<string, ApiObject>();
  readonly #addresses: ServiceAddress[] = [];
  /** The API server's error for objects that the node may not read. */
  readonly #refusals = new Map<string, string>();
  readonly #pods = new Map<string, Pod>();
  /** What was published for each object, as JSON. */
  readonly #published = new Map<string, string>();
  readonly #socket: string;
  readonly #http: FastifyInstance;
  #place: ServicePlace | undefined;

  /** Replaces a node's object-cache. There are no objects yet. */
  static async open(node: TestNode): Promise<ObjectCache> {
    const place = await takePlace(node, 'object-cache');
    const cache = await ObjectCache.start(place.bus, node.dir.socket('objects'));
    cache.#place = place;
    place.announce();
    return cache;
  }

  /** As {@link open}, for a test that has a bus and no node; `bus` is joined as object-cache. */
  static async start(bus: Bus, socket: string): Promise<ObjectCache> {
    const cache = new ObjectCache(bus, socket);
    await cache.#serve();
    return cache;
  }

  private constructor(bus: Bus, socket: string) {
    this.#socket = socket;
    this.#http = fastify();
    this.#facts = bus.owner(cachedObject);
    this.#services = bus.owner(namespaceServices);
    this.#classes = bus.owner(runtimeClass);
    bus.reader(podWork, {
      changed: ({ key, value }) => {
        if (value.pod !== undefined) this.#pods.set(key, value.pod);
        this.#tell();
      },
      removed: ({ key }) => {
        this.#pods.delete(key);
        this.#tell();
      },
      complete: () => this.#facts.complete(),
    });
    this.#classes.complete();
    // No object of this kind exists.
    bus.owner(trustBundle).complete();
    bus.owner(volumeClaim).complete();
    bus.owner(csiDriver).complete();
    bus.owner(volumeAttachment).complete();
    bus.reader(clusterNode, {});
    this.#tell();
  }

  /** Stores an object. */
  put(object: ApiObject): void {
    this.#objects.set(objectKey(referenceOf(object)), object);
    this.#refusals.delete(objectKey(referenceOf(object)));
    this.#tell();
  }

  /** Removes an object. */
  remove(object: ObjectReference): void {
    this.#objects.delete(objectKey(object));
    this.#tell();
  }

  /** Forbids the node to read an object. */
  refuse(object: ObjectReference, message: string): void {
    this.#refusals.set(objectKey(object), message);
    this.#tell();
  }

  putService(service: ServiceAddress): void {
    this.#addresses.push(service);
    this.#tell();
  }

  putRuntimeClass(value: RuntimeClass): void {
    this.#classes.put(value.name, value);
  }

  /** Closes the socket and leaves the bus. What was published stays. */
  async close(): Promise<void> {
    await this.#http.close();
    await rm(this.#socket, { force: true });
    await this.#place?.leave();
  }

  async #serve(): Promise<void> {
    this.#http.get<{ Params: ObjectReference; Querystring: { version?: string } }>(objectRoute, (request, reply) => {
      const object = this.#objects.get(objectKey(request.params));
      if (object === undefined) return reply.code(404).send({ message: 'there is no such object' });
      const { resourceVersion } = object.metadata;
      if (resourceVersion === request.query.version) return reply.send(object);
      return reply.code(409).send({ message: `the object is at version ${resourceVersion}` });
    });
    await rm(this.#socket, { force: true });
    await this.#http.listen({ path: this.#socket });
    await chmod(this.#socket, 0o600);
  }

  /**
   * Publishes the Services of the pods' namespaces and every object that a pod of the node refers to, and removes what no
   * pod refers to any more.
   */
  #tell(): void {
    for (const namespace of new Set(['default', ...[...this.#pods.values()].flatMap(serviceNamespaces)])) {
      this.#services.put(namespace, { services: this.#addresses.filter((one) => one.namespace === namespace) });
    }
    const wanted = new Map(
      [...this.#pods.values()]
        .flatMap((pod) => [...referencedObjects(pod), ...mountedObjects(pod)])
        .map((object) => [objectKey(object), object] as const),
    );
    for (const [key, object] of wanted) {
      const state = this.#stateOf(object);
      const text = JSON.stringify(state);
      if (this.#published.get(key) === text) continue;
      this.#published.set(key, text);
      this.#facts.put(key, state);
    }
    for (const key of this.#published.keys()) {
      if (wanted.has(key)) continue;
      this.#published.delete(key);
      this.#facts.remove(key);
    }
  }

  #stateOf(reference: ObjectReference): CachedObject {
    const message = this.#refusals.get(objectKey(reference));
    if (message !== undefined) return { ...reference, state: 'refused', message };
    const object = this.#objects.get(objectKey(reference));
    if (object === undefined) return { ...reference, state: 'missing' };
    const { uid, resourceVersion: version } = object.metadata;
    const binaryKeys = object.kind === 'ConfigMap' ? Object.keys(object.binaryData ?? {}) : [];
    const binary = binaryKeys.length > 0 && { binaryKeys };
    return { ...reference, state: 'present', uid, version, keys: Object.keys(object.data ?? {}), ...binary };
  }
}

function referenceOf({ kind, metadata: { namespace, name } }: ApiObject): ObjectReference {
  return { kind, namespace, name };
}
