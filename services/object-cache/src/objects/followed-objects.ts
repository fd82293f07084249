import type { FactOwner } from '@kubus/bus';
import { type CachedObject, type ObjectReference, objectKey } from '@kubus/contracts';
import type { ApiReader } from '../follow/api-reader.ts';
import { FollowedObject } from './followed-object.ts';
import { FollowedSet, KEEP_MS } from '../follow/followed-set.ts';
import type { KeptObject } from './kept-object.ts';

/** The ConfigMaps and Secrets that pods, or the volumes of their claims, refer to. */
export class FollowedObjects extends FollowedSet<ObjectReference, CachedObject, FollowedObject> {
  constructor(reader: ApiReader, facts: FactOwner<CachedObject>) {
    const { clock } = reader;
    const follow = (reference: ObjectReference, changed: () => void) => new FollowedObject(reader, reference, changed);
    super({ clock, facts, keepMs: KEEP_MS, follow });
  }

  /** The object with its values, if it exists; `unread` when that is not known. */
  read(reference: ObjectReference): KeptObject | 'unread' | undefined {
    const followed = this.get(objectKey(reference));
    return followed === undefined ? 'unread' : followed.object;
  }
}
