import { type KubeObject, plainJson, sameJson } from '@kubus/kube-objects';

/** One step of the store's history. */
export interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** Key of the resource's table: `pods`, `leases.coordination.k8s.io`. */
  readonly resource: string;
  readonly key: string;
  /** The object after the change; of a deletion: its last state, at the version of the deletion. */
  readonly object: KubeObject;
  /** Before the change. */
  readonly previous?: KubeObject;
}

/**
 * Where objects are kept: with one version that grows with each change and the history of changes since it was last
 * compacted, as etcd has them. It is independent of kinds: its callers decide what may be stored. What a method has returned is stored.
 */
export interface Store {
  readonly version: number;
  /** On the disk, in bytes; 0 of one in memory. */
  readonly sizeBytes: number;
  get(resource: string, key: string): KubeObject | undefined;
  /** In the order of their keys. */
  list(resource: string): KubeObject[];
  /** The table as it was at a version; undefined if the history does not reach back that far. */
  listAt(resource: string, version: number): KubeObject[] | undefined;
  /** Stores the object at a new version. An unchanged object keeps its version, and no watcher is notified. */
  put(resource: string, key: string, object: KubeObject): KubeObject;
  /** Removes the object; returns it at the version of its removal. */
  remove(resource: string, key: string, last: KubeObject): KubeObject;
  /** Every change of a resource after a version; undefined if the history does not reach back that far. */
  changesAfter(resource: string, version: number): Change[] | undefined;
  /** Drops the history up to now. */
  compact(): void;
  /** Calls the listener synchronously with each change from now on. Returns a function that ends this. */
  follow(listener: (change: Change) => void): () => void;
}

/**
 * All objects of the test API server in memory, with one version that grows with each change and the history of changes
 * since it was last compacted, as etcd has them. It is independent of kinds: its callers decide what may be stored.
 */
export class MemoryStore implements Store {
  readonly sizeBytes = 0;
  readonly #tables = new Map<string, Map<string, KubeObject>>();
  readonly #history: Change[] = [];
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #write: (change: Change) => void;
  #version: number;
  #compacted: number;

  /**
   * @param version the first version; that of a new cluster is not 0 either.
   * @param write keeps a change before it is visible; what it throws, the change's caller gets, and nothing has changed.
   */
  constructor(version = 1, write: (change: Change) => void = () => undefined) {
    this.#version = version;
    this.#compacted = version;
    this.#write = write;
  }

  /**
   * One with the changes that were kept, in the order of their versions.
   *
   * @param compacted the version up to which there is no history.
   */
  static from(
    compacted: number,
    changes: Iterable<Omit<Change, 'previous'>>,
    write: (change: Change) => void,
  ): MemoryStore {
    const store = new MemoryStore(compacted, write);
    for (const { type, resource, key, ...rest } of changes) {
      const table = store.#table(resource);
      const previous = table.get(key);
      if (type === 'DELETED') table.delete(key);
      else table.set(key, rest.object);
      if (rest.version <= compacted) continue;
      store.#version = rest.version;
      store.#history.push({ ...rest, type, resource, key, ...(previous && { previous }) });
    }
    return store;
  }

  /** The number of changes that are kept. */
  get history(): number {
    return this.#history.length;
  }

  get version(): number {
    return this.#version;
  }

  get(resource: string, key: string): KubeObject | undefined {
    return this.#tables.get(resource)?.get(key);
  }

  /** In the order of their keys. */
  list(resource: string): KubeObject[] {
    return sortedValues(this.#tables.get(resource) ?? new Map<string, KubeObject>());
  }

  /** The table as it was at a version; undefined if the history does not reach back that far. */
  listAt(resource: string, version: number): KubeObject[] | undefined {
    if (version < this.#compacted) return undefined;
    const table = new Map(this.#tables.get(resource));
    for (const change of this.#history.toReversed()) {
      if (change.version <= version) break;
      if (change.resource !== resource) continue;
      if (change.previous === undefined) table.delete(change.key);
      else table.set(change.key, change.previous);
    }
    return sortedValues(table);
  }

  /** Stores the object at a new version. An unchanged object keeps its version, and no watcher is notified. */
  put(resource: string, key: string, object: KubeObject): KubeObject {
    const table = this.#table(resource);
    const previous = table.get(key);
    const unchanged = previous && atVersion(object, previous.metadata.resourceVersion);
    if (previous && sameJson(unchanged, previous)) return previous;
    const version = this.#version + 1;
    const stored = plainJson(atVersion(object, String(version)));
    const type = previous === undefined ? 'ADDED' : 'MODIFIED';
    this.#record({ version, type, resource, key, object: stored, ...(previous && { previous }) });
    return stored;
  }

  /** Removes the object; returns it at the version of its removal. */
  remove(resource: string, key: string, last: KubeObject): KubeObject {
    const previous = this.#tables.get(resource)?.get(key);
    const version = this.#version + 1;
    const object = plainJson(atVersion(last, String(version)));
    this.#record({ version, type: 'DELETED', resource, key, object, ...(previous && { previous }) });
    return object;
  }

  /** Every change of a resource after a version; undefined if the history does not reach back that far. */
  changesAfter(resource: string, version: number): Change[] | undefined {
    if (version < this.#compacted) return undefined;
    return this.#history.filter((change) => change.version > version && change.resource === resource);
  }

  compact(): void {
    this.compactTo(this.#version);
  }

  /** Drops the history up to a version. */
  compactTo(version: number): void {
    const first = this.#history.findIndex((change) => change.version > version);
    this.#history.splice(0, first < 0 ? this.#history.length : first);
    this.#compacted = version;
  }

  /** Calls the listener synchronously with each change from now on. Returns a function that ends this. */
  follow(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #record(change: Change): void {
    this.#write(change);
    this.#version = change.version;
    const table = this.#table(change.resource);
    if (change.type === 'DELETED') table.delete(change.key);
    else table.set(change.key, change.object);
    this.#history.push(change);
    for (const listener of [...this.#listeners]) listener(change);
  }

  #table(resource: string): Map<string, KubeObject> {
    const table = this.#tables.get(resource) ?? new Map<string, KubeObject>();
    this.#tables.set(resource, table);
    return table;
  }
}

function atVersion(object: KubeObject, resourceVersion: string): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

function sortedValues(table: ReadonlyMap<string, KubeObject>): KubeObject[] {
  return [...table.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, object]) => object);
}
