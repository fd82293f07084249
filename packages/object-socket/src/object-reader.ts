import { type ObjectVersion, objectKey } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import type { ObjectData } from './api-object.ts';

/** Reads the values of Secrets and ConfigMaps. They go to whom they are for, and nowhere else. */
export interface ObjectReader {
  /** The object as it is at this version. Rejects with an `ObjectError` when it can not be had so. */
  read(object: ObjectVersion): Promise<ObjectData>;
}

/** The reader of a node that has nobody who could be asked. */
export const noObjects: ObjectReader = {
  read: (object) =>
    Promise.reject(new KubusError('NoObjectCache', `this node has no object-cache to ask for ${objectKey(object)}`)),
};
