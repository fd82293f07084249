import type { CachedObject, ObjectReference } from '@kubus/contracts';
import { type KubeError, type Reflector, isExpired, isOutage, kubePath } from '@kubus/kube';
import { type ApiReader, follow } from '../follow/api-reader.ts';
import { type KeptObject, readObject } from './kept-object.ts';

const resources = { ConfigMap: 'configmaps', Secret: 'secrets' } as const;

/** State of an object; undefined until the API server has answered. */
type State =
  | { readonly is: 'present'; readonly object: KeptObject }
  | { readonly is: 'missing' }
  | { readonly is: 'refused'; readonly message: string };

/**
 * One ConfigMap or Secret, watched individually, since a node may only read objects that its pods name. An immutable
 * one is read once (behaviour:objects-and-tokens, Strategy).
 */
export class FollowedObject {
  readonly #reference: ObjectReference;
  readonly #reflector: Reflector<KeptObject>;
  readonly #changed: () => void;
  #state: State | undefined;

  /** @param changed called when the state becomes known and after each change */
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

  /** The fact to publish; undefined while nothing is known. */
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

  /** The current object with its values; `unread` while nothing is known. */
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
   * The known state stays valid while the API server cannot be reached or denies access. Without one, a refusal is an
   * answer: the pod waits, with its text.
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
