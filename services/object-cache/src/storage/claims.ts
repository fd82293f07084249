import type { FactOwner } from '@kubus/bus';
import type { ClaimName, VolumeClaim } from '@kubus/contracts';
import type { ApiReader } from '../follow/api-reader.ts';
import { followClaim } from './followed-claim.ts';
import type { Polled } from '../follow/polled.ts';
import { FollowedSet, type FollowedSetOptions, KEEP_MS } from '../follow/followed-set.ts';

/** The claims that pods use, with their volumes. */
export class Claims extends FollowedSet<ClaimName, VolumeClaim, Polled<VolumeClaim>> {
  constructor(
    reader: ApiReader,
    facts: FactOwner<VolumeClaim>,
    listener: Pick<FollowedSetOptions<ClaimName, VolumeClaim, Polled<VolumeClaim>>, 'published' | 'completed'>,
  ) {
    const { clock } = reader;
    const follow = (name: ClaimName, changed: () => void) => followClaim(reader, name, changed);
    super({ clock, facts, keepMs: KEEP_MS, follow, ...listener });
  }
}
