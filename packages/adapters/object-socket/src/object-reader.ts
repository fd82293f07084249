import { type ObjectVersion, objectKey } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import type { ObjectData } from './api-object.ts';

/** Reads the values of Secrets and ConfigMaps. They must only be passed to their consumers. */
export interface ObjectReader {
  /** The object as it is at this version. Rejects with an `ObjectError` when it is not available. */
  read(object: ObjectVersion): Promise<ObjectData>;
}

/** The reader of a node without object-cache. */
export const noObjects: ObjectReader = {
  read: (object) =>
    Promise.reject(new KubusError('NoObjectCache', `this node has no object-cache for ${objectKey(object)}`)),
};
