import type { FactOwner } from '@kubus/bus';
import type { Reflector } from '@kubus/kube';
import { type ApiReader, follow } from './api-reader.ts';

export interface PublishedCollectionOptions<T> {
  readonly facts: FactOwner<T>;
  /** See `kubePath`. */
  readonly path: string;
  readonly parse: (object: unknown) => T;
  /** Called after each change of the published objects. */
  readonly changed?: () => void;
}

/**
 * Publishes a whole collection of the cluster, object by object under their names, from the first need on: later pods
 * need not wait for a list. Empty when the API server does not know such objects.
 */
export class PublishedCollection<T extends { readonly name: string }> {
  readonly #reader: ApiReader;
  readonly #options: PublishedCollectionOptions<T>;
  readonly #known = new Map<string, T>();
  #reflector: Reflector<T> | undefined;
  #read = false;

  constructor(reader: ApiReader, options: PublishedCollectionOptions<T>) {
    this.#reader = reader;
    this.#options = options;
  }

  /** Whether all have been read once. */
  get read(): boolean {
    return this.#read;
  }

  get(name: string): T | undefined {
    return this.#known.get(name);
  }

  /** Starts to follow the collection. Idempotent. */
  need(): void {
    const { path, parse } = this.#options;
    this.#reflector ??= follow(
      this.#reader,
      { path, parse },
      {
        replaced: (objects) => this.#replace(objects),
        changed: (object) => {
          this.#put(object);
          this.#options.changed?.();
        },
        removed: ({ name }) => {
          this.#remove(name);
          this.#options.changed?.();
        },
        failed: ({ status }) => {
          if (status === 404) this.#complete();
        },
      },
    );
  }

  stop(): void {
    this.#reflector?.stop();
  }

  #replace(objects: readonly T[]): void {
    const now = new Set(objects.map(({ name }) => name));
    for (const name of this.#known.keys()) if (!now.has(name)) this.#remove(name);
    for (const object of objects) this.#put(object);
    this.#complete();
  }

  #complete(): void {
    this.#read = true;
    this.#options.facts.complete();
    this.#options.changed?.();
  }

  #put(object: T): void {
    this.#known.set(object.name, object);
    this.#options.facts.put(object.name, object);
  }

  #remove(name: string): void {
    this.#known.delete(name);
    this.#options.facts.remove(name);
  }
}
