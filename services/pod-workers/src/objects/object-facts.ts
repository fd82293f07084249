import type { Bus, Cause, FactReader } from '@kubus/bus';
import { referencedObjects, serviceNamespaces } from '@kubus/container-config';
import {
  CONFIG_SOURCE,
  type CachedObject,
  type NamespaceServices,
  type ObjectReference,
  type Pod,
  type RuntimeClass,
  type ServiceAddress,
  cachedObject,
  configuredSources,
  namespaceServices,
  objectKey,
  runtimeClass,
} from '@kubus/contracts';

/** The API server's objects that pods need, as far as they are known. */
export class ObjectFacts {
  readonly #objects: FactReader<CachedObject>;
  readonly #services: FactReader<NamespaceServices>;
  readonly #classes: FactReader<RuntimeClass>;
  /** The namespaces whose services have been published. */
  readonly #namespaces = new Set<string>();
  #classesRead = false;
  #hasApi: boolean | undefined;

  /** @param changed called when an object becomes known or changes; `concerns` selects the pods that it affects. */
  constructor(bus: Bus, changed: (concerns: (pod: Pod) => boolean, cause: Cause) => void) {
    const hasClass = ({ spec }: Pod) => spec.runtimeClassName !== undefined;
    this.#objects = bus.reader(cachedObject, {
      changed: ({ key, cause }) =>
        changed((pod) => referencedObjects(pod).some((one) => objectKey(one) === key), cause),
      // After its restart the object cache may serve objects that it could not serve before.
      complete: (_instance, _epoch, cause) => changed((pod) => referencedObjects(pod).length > 0, cause),
    });
    this.#services = bus.reader(namespaceServices, {
      changed: ({ key, cause }) => {
        // Running containers keep the variables that they have.
        if (this.#namespaces.has(key)) return;
        this.#namespaces.add(key);
        changed((pod) => isFromApi(pod) && serviceNamespaces(pod).includes(key), cause);
      },
      removed: ({ key }) => void this.#namespaces.delete(key),
    });
    this.#classes = bus.reader(runtimeClass, {
      changed: ({ key, cause }) => changed(({ spec }) => spec.runtimeClassName === key, cause),
      complete: (_instance, _epoch, cause) => {
        this.#classesRead = true;
        changed(hasClass, cause);
      },
    });
    bus.reader(configuredSources, {
      changed: ({ value, cause }) => {
        this.#hasApi = value.sources.includes('api');
        changed(hasClass, cause);
      },
    });
  }

  /** Whether the node has an API server; undefined until config-sources has published its sources. */
  get hasApi(): boolean | undefined {
    return this.#hasApi;
  }

  /** Undefined until the object cache has read it. */
  get(object: ObjectReference): CachedObject | undefined {
    return this.#objects.get(objectKey(object))?.value;
  }

  /** The services from which a pod's variables are made, as far as they are known, and whether all of them are known. */
  services(pod: Pod): { readonly read: boolean; readonly known: readonly ServiceAddress[] } {
    const found = serviceNamespaces(pod).map((namespace) => this.#services.get(namespace)?.value.services);
    return { read: !found.includes(undefined), known: found.flatMap((services) => services ?? []) };
  }

  /** `unread` until the classes have been read: until then a class that seems to be missing may exist. */
  runtimeClass(name: string): RuntimeClass | 'missing' | 'unread' {
    return this.#classes.get(name)?.value ?? (this.#classesRead ? 'missing' : 'unread');
  }
}

/** Whether a pod comes from the API server, and may therefore refer to its objects. */
export function isFromApi({ metadata }: Pick<Pod, 'metadata'>): boolean {
  return metadata.annotations?.[CONFIG_SOURCE] === 'api';
}
