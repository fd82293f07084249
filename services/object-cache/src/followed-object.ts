import type { CachedObject, ObjectReference } from '@kubus/contracts';
import { type KubeError, type Reflector, isExpired, isOutage, kubePath } from '@kubus/kube';
import { type ApiReader, follow } from './api-reader.ts';
import { type KeptObject, readObject } from './kept-object.ts';

const resources = { ConfigMap: 'configmaps', Secret: 'secrets' } as const;

/** How an object stands; undefined as long as the API server has said nothing. */
type State =
  | { readonly is: 'present'; readonly object: KeptObject }
  | { readonly is: 'missing' }
  | { readonly is: 'refused'; readonly message: string };

/**
 * One ConfigMap or Secret, watched by itself, for a node may read what its pods refer to by name and nothing else. One that
 * can not change is read once (kubelet behaviour 1.14, Strategy).
 */
export class FollowedObject {
  readonly #reference: ObjectReference;
  readonly #reflector: Reflector<KeptObject>;
  readonly #changed: () => void;
  #state: State | undefined;

  /** @param changed called when it is known how the object stands, and each time when that is different. */
  constructor(reader: ApiReader, reference: ObjectReference, changed: () => void) {
    const { kind, namespace, name } = reference;
    this.#reference = reference;
    this.#changed = changed;
    const collection = {
      path: kubePath({ version: 'v1', namespace, resource: resources[kind] }),
      query: { fieldSelector: `metadata.name=${name}` },
      parse: (object: unknown) => readObject(kind, object),
    };
    this.#reflector = follow(reader, collection, {
      replaced: ([found]) => this.#take(found),
      changed: (object) => this.#take(object),
      removed: () => this.#set({ is: 'missing' }),
      failed: (error) => this.#fail(error),
    });
  }

  /** What the bus is told of it; undefined as long as nothing is known. */
  get fact(): CachedObject | undefined {
    switch (this.#state?.is) {
      case undefined:
        return undefined;
      case 'missing':
        return { ...this.#reference, state: 'missing' };
      case 'refused':
        return { ...this.#reference, state: 'refused', message: this.#state.message };
      case 'present': {
        const { uid, version, keys, binaryKeys } = this.#state.object;
        const binary = binaryKeys.length > 0 && { binaryKeys: [...binaryKeys] };
        return { ...this.#reference, state: 'present', uid, version, keys: [...keys], ...binary };
      }
    }
  }

  /** The object as it is now, with its values; `unread` as long as nothing is known. */
  get object(): KeptObject | 'unread' | undefined {
    if (this.#state === undefined) return 'unread';
    return this.#state.is === 'present' ? this.#state.object : undefined;
  }

  stop(): void {
    this.#reflector.stop();
  }

  #take(object: KeptObject | undefined): void {
    this.#set(object === undefined ? { is: 'missing' } : { is: 'present', object });
    if (object?.immutable === true) this.#reflector.stop();
  }

  /**
   * What is known goes on counting while the API server can not be asked, or does not let it be read any more. Where nothing
   * is known, a refusal is an answer: a pod waits with its words.
   */
  #fail(error: KubeError): void {
    if (isOutage(error) || isExpired(error) || this.#state?.is === 'present') return;
    this.#set({ is: 'refused', message: error.said ?? error.message });
  }

  #set(state: State): void {
    this.#state = state;
    this.#changed();
  }
}
