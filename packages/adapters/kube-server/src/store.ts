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

/** The changes of a store since it was last compacted. */
export interface History {
  /** The version up to which there is none. */
  readonly compacted: number;
  /** Keeps a change before it is visible to anyone. What it throws, the change's caller gets, and nothing has changed. */
  append(change: Change): void;
  /** Of a resource, after a version that is not before {@link compacted}, in their order. */
  after(resource: string, version: number): Change[];
  /** Drops the changes up to a version. */
  compactTo(version: number): void;
}

/** A history in memory. That of a new cluster does not begin at 0 either. */
export class MemoryHistory implements History {
  readonly #changes: Change[];
  #compacted = 1;

  /** @param changes those that were kept, to which others are added */
  constructor(changes: Change[] = []) {
    this.#changes = changes;
  }

  get compacted(): number {
    return this.#compacted;
  }

  append(change: Change): void {
    this.#changes.push(change);
  }

  after(resource: string, version: number): Change[] {
    return this.#changes.filter((change) => change.version > version && change.resource === resource);
  }

  compactTo(version: number): void {
    const first = this.#changes.findIndex((change) => change.version > version);
    this.#changes.splice(0, first < 0 ? this.#changes.length : first);
    this.#compacted = version;
  }
}

/** All objects in memory, as they are now; what they were before is in the history, wherever that is. */
export class MemoryStore implements Store {
  readonly sizeBytes = 0;
  readonly #tables = new Map<string, Table>();
  readonly #history: History;
  readonly #listeners = new Set<(change: Change) => void>();
  #version: number;

  /**
   * @param history default: one in memory.
   * @param changes those that were kept, in the order of their versions.
   */
  constructor(history: History = new MemoryHistory(), changes: Iterable<Omit<Change, 'previous'>> = []) {
    this.#history = history;
    this.#version = history.compacted;
    for (const change of changes) {
      this.#apply(change);
      this.#version = Math.max(this.#version, change.version);
    }
  }

  get version(): number {
    return this.#version;
  }

  get(resource: string, key: string): KubeObject | undefined {
    return this.#tables.get(resource)?.get(key);
  }

  /** In the order of their keys. */
  list(resource: string): KubeObject[] {
    return this.#tables.get(resource)?.values() ?? [];
  }

  /** The table as it was at a version; undefined if the history does not reach back that far. */
  listAt(resource: string, version: number): KubeObject[] | undefined {
    const changes = this.changesAfter(resource, version);
    if (changes === undefined) return undefined;
    const table = new Table(this.#tables.get(resource));
    for (const { key, previous } of changes.toReversed()) {
      if (previous === undefined) table.delete(key);
      else table.set(key, previous);
    }
    return table.values();
  }

  /** Stores the object at a new version. An unchanged object keeps its version, and no watcher is notified. */
  put(resource: string, key: string, object: KubeObject): KubeObject {
    const previous = this.get(resource, key);
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
    const previous = this.get(resource, key);
    const version = this.#version + 1;
    const object = plainJson(atVersion(last, String(version)));
    this.#record({ version, type: 'DELETED', resource, key, object, ...(previous && { previous }) });
    return object;
  }

  /** Every change of a resource after a version; undefined if the history does not reach back that far. */
  changesAfter(resource: string, version: number): Change[] | undefined {
    return version < this.#history.compacted ? undefined : this.#history.after(resource, version);
  }

  compact(): void {
    this.#history.compactTo(this.#version);
  }

  /** Calls the listener synchronously with each change from now on. Returns a function that ends this. */
  follow(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #record(change: Change): void {
    this.#history.append(change);
    this.#version = change.version;
    this.#apply(change);
    for (const listener of [...this.#listeners]) listener(change);
  }

  #apply({ type, resource, key, object }: Omit<Change, 'previous'>): void {
    const table = this.#tables.get(resource) ?? new Table();
    this.#tables.set(resource, table);
    if (type === 'DELETED') table.delete(key);
    else table.set(key, object);
  }
}

function atVersion(object: KubeObject, resourceVersion: string): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

/** Objects by their keys, and in the order of their keys. */
class Table {
  readonly #objects: Map<string, KubeObject>;
  /** Sorted when it is asked for after another set of keys than before. */
  #keys: string[] | undefined;

  constructor(from?: Table) {
    this.#objects = new Map(from === undefined ? [] : from.#objects);
  }

  get(key: string): KubeObject | undefined {
    return this.#objects.get(key);
  }

  set(key: string, object: KubeObject): void {
    if (!this.#objects.has(key)) this.#keys = undefined;
    this.#objects.set(key, object);
  }

  delete(key: string): void {
    if (this.#objects.delete(key)) this.#keys = undefined;
  }

  values(): KubeObject[] {
    this.#keys ??= [...this.#objects.keys()].sort();
    return this.#keys.flatMap((key) => this.#objects.get(key) ?? []);
  }
}
