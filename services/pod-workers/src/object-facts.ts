import type { Bus, Cause, FactReader } from '@kubus/bus';
import { referencedObjects } from '@kubus/container-config';
import {
  CONFIG_SOURCE,
  type CachedObject,
  type ObjectReference,
  type Pod,
  type RuntimeClass,
  type ServiceAddress,
  cachedObject,
  configuredSources,
  objectKey,
  runtimeClass,
  serviceAddress,
} from '@kubus/contracts';

/** What is known of the API server's objects that pods need. */
export class ObjectFacts {
  readonly #objects: FactReader<CachedObject>;
  readonly #services: FactReader<ServiceAddress>;
  readonly #classes: FactReader<RuntimeClass>;
  #servicesRead = false;
  #classesRead = false;
  #hasApi: boolean | undefined;

  /** @param changed called when something is known now or is different; `concerns` says for which pods that matters. */
  constructor(bus: Bus, changed: (concerns: (pod: Pod) => boolean, cause: Cause) => void) {
    const hasClass = ({ spec }: Pod) => spec.runtimeClassName !== undefined;
    this.#objects = bus.reader(cachedObject, {
      changed: ({ key, cause }) =>
        changed((pod) => referencedObjects(pod).some((one) => objectKey(one) === key), cause),
      // In its new life it can be asked for what it could not be asked for before.
      complete: (_instance, _epoch, cause) => changed((pod) => referencedObjects(pod).length > 0, cause),
    });
    this.#services = bus.reader(serviceAddress, {
      complete: (_instance, _epoch, cause) => {
        this.#servicesRead = true;
        changed(isFromApi, cause);
      },
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

  /** Whether the node has an API server; undefined while nobody has said so. */
  get hasApi(): boolean | undefined {
    return this.#hasApi;
  }

  /** Undefined while nobody has looked for it. */
  get(object: ObjectReference): CachedObject | undefined {
    return this.#objects.get(objectKey(object))?.value;
  }

  /** The services that are known, and whether all have been read once. */
  get services(): { readonly read: boolean; readonly known: readonly ServiceAddress[] } {
    return { read: this.#servicesRead, known: [...this.#services].map(({ value }) => value) };
  }

  /** `unread` while a class that is not there may only not have been read. */
  runtimeClass(name: string): RuntimeClass | 'missing' | 'unread' {
    return this.#classes.get(name)?.value ?? (this.#classesRead ? 'missing' : 'unread');
  }
}

/** Whether a pod comes from the API server, and may therefore refer to its objects. */
export function isFromApi({ metadata }: Pick<Pod, 'metadata'>): boolean {
  return metadata.annotations?.[CONFIG_SOURCE] === 'api';
}
